import { inspect } from 'node:util'
import { Command, CommanderError } from 'commander'
import { CascadeError, isCascadeError } from '../../topics/index.ts'
import { packageVersion } from '../version.ts'
import { type Context, type ExitCode, exitCodeOf } from './command.ts'
import { type CommandEntry, commands } from './commands/index.ts'

/**
 * Runs `cascade` with the arguments after the program's name and resolves its exit code; never rejects.
 * What `given` leaves out is the process's own, signal handlers and all.
 */
export async function main(argv: readonly string[], given: Partial<Context> = {}): Promise<number> {
  let code: ExitCode = 0
  const abort = new AbortController()
  const state = { pipeBroken: false }
  const context: Context = {
    signal: abort.signal,
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    cwd: process.cwd(),
    ...given,
    exitWith(wanted) {
      code = wanted
    },
  }
  const release = given.signal ? () => undefined : handleSignals(abort, state)
  try {
    const program = await programFor(argv, context)
    await program.parseAsync([...argv], { from: 'user' })
    return code
  } catch (error) {
    if (state.pipeBroken && isCascadeError(error, 'INTERRUPTED')) return commandOf(argv)?.resumable ? 130 : 0
    return report(error, argv, context)
  } finally {
    release()
  }
}

async function programFor(argv: readonly string[], context: Context): Promise<Command> {
  const program = new Command('cascade')
    .description('Reinforcement-learning post-training of language models as a stream program.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'say what a command does and takes')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => void context.stdout.write(text),
      writeErr: (text) => void context.stderr.write(text),
      // Printed by `report`, in the one form that every error has.
      outputError: () => undefined,
      getOutHelpWidth: () => context.stdout.columns ?? 100,
      getErrHelpWidth: () => context.stderr.columns ?? 100,
    })
    .showHelpAfterError(false)
    .addHelpText('after', '\nExample:\n  $ cascade run --dir runs/first\n  $ cascade report runs/first')
  const wanted = commandOf(argv)
  for (const entry of commands) await add(program, entry, entry === wanted, context)
  return program
}

function commandOf(argv: readonly string[]): CommandEntry | undefined {
  const words = argv.filter((word) => !word.startsWith('-'))
  const name = words[0] === 'help' ? words[1] : words[0]
  return commands.find((entry) => entry.name === name)
}

async function add(program: Command, entry: CommandEntry, load: boolean, context: Context): Promise<void> {
  if (load) (await entry.load()).register(program, context)
  else program.command(entry.name).description(entry.summary)
}

function report(error: unknown, argv: readonly string[], context: Context): ExitCode {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0
    // Help was asked for by leaving the command out; it has been printed.
    if (error.code === 'commander.help') return 2
    const message = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
    return say(new CascadeError('USAGE', message), argv, context)
  }
  return say(error, argv, context)
}

/** One line on stderr, or one JSON object with `--json`; the stack only where CASCADE_DEBUG asks for it. */
function say(error: unknown, argv: readonly string[], { stderr, env }: Context): ExitCode {
  const code = isCascadeError(error) ? error.code : 'UNEXPECTED'
  const message = error instanceof Error ? error.message : String(error)
  const stack = env.CASCADE_DEBUG && error instanceof Error ? inspect(error) : undefined
  if (wantsJson(argv)) stderr.write(`${JSON.stringify({ error: { code, message, stack } })}\n`)
  else {
    const advice =
      code === 'UNEXPECTED' && !stack ? ' (please report it, with what CASCADE_DEBUG=1 adds)' : ''
    stderr.write(`error ${code}: ${message}${advice}\n${stack ? `${stack}\n` : ''}`)
  }
  return exitCodeOf(error)
}

function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  return argv.slice(0, end < 0 ? undefined : end).includes('--json')
}

/** The first signal asks every part to stop; the second one does not wait. */
function handleSignals(abort: AbortController, state: { pipeBroken: boolean }): () => void {
  const onSignal = (signal: NodeJS.Signals) => {
    if (abort.signal.aborted) process.exit(130)
    abort.abort(new CascadeError('INTERRUPTED', `interrupted by ${signal}`))
  }
  const onPipe = (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    // The reader of our output has gone (`| head`): stop as on Ctrl-C, but there is nobody to tell.
    state.pipeBroken = true
    abort.abort(new CascadeError('INTERRUPTED', 'the reader of the output has gone'))
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  process.stdout.on('error', onPipe)
  return () => {
    process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  }
}
