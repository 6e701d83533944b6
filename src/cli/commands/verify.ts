import { access, constants, open, stat } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { InvalidArgumentError } from 'commander'
import { CascadeError } from '../../../topics/index.ts'
import { openCaseJudge } from '../../verifiers/case-judge.ts'
import { type KindEntry, kindNamed, kinds } from '../../verifiers/kinds.ts'
import type { Context, Register } from '../command.ts'
import { print } from '../output/print.ts'
import { addKindFlags, flagsOf } from '../verify/kind-flags.ts'
import { readCases, scoreCases } from '../verify/score-file.ts'
import { Tally } from '../verify/tally.ts'
import { registerServe } from './verify-serve.ts'

interface Flags extends Record<string, unknown> {
  in?: string
  out?: string
  jobs: number
  timeout: number
  memory: number
  json?: true
}

/** Cases under way for each job, so that no process waits for the next. */
const ahead = 128

export const register: Register = (program, context) => {
  const list = kinds.map((kind) => `\n  ${kind.name.padEnd(14)}${kind.summary}`).join('')
  const command = program
    .command('verify')
    .description('Score a file of cases with a verifier, one verdict a line in the order of the cases.')
    .argument('<kind>', `one of ${kinds.map((kind) => kind.name).join(', ')}`)
    .option('--in <file>', 'cases, one JSON object a line')
    .option('--out <file>', 'where the verdicts go; - is the standard output')
    .option('--jobs <n>', 'cases that are judged at the same time', wholeNumber, availableParallelism())
    .option('--timeout <ms>', 'a case that takes longer is an error', wholeNumber, 10_000)
    .option('--memory <mb>', 'memory of a judging process', wholeNumber, 1_024)
    .option('--json', 'counts and rate as one JSON object')
    .addHelpText(
      'after',
      `\nKinds:${list}\n\nExits with 1 where a case ended in an error; an error is no score.\n\nExample:\n  $ cascade verify math --in cases.jsonl --out verdicts.jsonl --jobs 2`,
    )
    .action((name: string, flags: Flags) => verify(kindNamed(name), flags, context))
  addKindFlags(command)
  registerServe(command, context)
}

async function verify(entry: KindEntry, flags: Flags, context: Context): Promise<void> {
  const { cwd, signal, stdout, stderr } = context
  const [input, output] = [file(flags, 'in'), file(flags, 'out')]
  const { version } = await entry.load()
  const options = {
    flags: flagsOf(entry, flags, context),
    jobs: flags.jobs,
    limits: { wallMs: flags.timeout, memoryMb: flags.memory },
  }
  const toStdout = output === '-'
  await checkInput(resolve(cwd, input), toStdout ? undefined : resolve(cwd, output))
  const out = toStdout ? stdout : await outputFile(resolve(cwd, output), output)
  const written = toStdout ? undefined : finished(out)
  // Reported by the write that fails, or at the end.
  written?.catch(() => undefined)
  const tally = new Tally(entry.name)
  const stop = tally.show(stderr)
  try {
    await using judge = await openCaseJudge(entry, options)
    const cases = readCases(resolve(cwd, input))
    const lines = scoreCases(cases, judge.submit, {
      window: flags.jobs * ahead,
      signal,
      name: entry.name,
      version,
    })
    for await (const line of lines) {
      tally.add(line)
      await print(out, `${JSON.stringify(line)}\n`, signal)
    }
    if (!toStdout) out.end()
    await written
  } catch (cause) {
    if (!toStdout) out.destroy()
    throw writeFault(cause, output)
  } finally {
    stop()
  }
  const text = flags.json ? `${JSON.stringify(tally.counts())}\n` : `${tally.line()}\n`
  await print(toStdout ? stderr : stdout, text, signal)
  if (tally.errors > 0) context.exitWith(1)
}

/** Not left to the parser: `verify serve`, which is below this command, has neither. */
function file(flags: Flags, name: 'in' | 'out'): string {
  const given = flags[name]
  if (given !== undefined) return given
  throw new CascadeError('USAGE', `--${name}: expected a file, got none`)
}

/** Before the output is emptied. @throws CascadeError USAGE for an input that cannot be read, or that is the output as well */
async function checkInput(input: string, output: string | undefined): Promise<void> {
  const source = await access(input, constants.R_OK)
    .then(() => stat(input))
    .catch((cause: unknown) => {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new CascadeError('USAGE', `${input}: expected a file that can be read, got ${why}`, { cause })
    })
  if (source.isDirectory()) {
    throw new CascadeError('USAGE', `${input}: expected a file that can be read, got a folder`)
  }
  const target = output === undefined ? undefined : await stat(output).catch(() => undefined)
  if (target?.isFile() && target.ino === source.ino && target.dev === source.dev) {
    throw new CascadeError('USAGE', `--out: expected another file than --in, got ${output}`)
  }
}

async function outputFile(path: string, named: string): Promise<Writable> {
  try {
    return (await open(path, 'w')).createWriteStream()
  } catch (cause) {
    throw writeFault(cause, named)
  }
}

function writeFault(cause: unknown, file: string): unknown {
  if (!(cause instanceof Error && 'syscall' in cause)) return cause
  return new CascadeError('USAGE', `${file}: expected a file that can be written: ${cause.message}`, {
    cause,
  })
}

function wholeNumber(text: string): number {
  if (/^[1-9][0-9]{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError(`expected a whole number above 0, got ${text}`)
}
