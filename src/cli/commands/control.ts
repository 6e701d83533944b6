import { Argument, InvalidArgumentError } from 'commander'
import { follow } from '../../../streams/follow.ts'
import type { Envelope, InboxCommand } from '../../../streams/ports.ts'
import { CascadeError, type Control, control } from '../../../topics/index.ts'
import type { Context, Register } from '../command.ts'
import { controlCommands, submitCommand } from '../control-inbox.ts'
import { logFolder, type OpenRun, runningProcess, withRun } from '../open-run.ts'

interface Flags {
  timeout: number
  json?: true
}

const effects = {
  pause: 'paused: the open step is finished, no other is begun',
  resume: 'resumed',
  stop: 'stopping: continue it with cascade run --resume',
} as const

export const register: Register = (program, context) => {
  program
    .command('control')
    .description('Pause, resume or stop a run that is going on, and wait until that has taken effect.')
    .argument('<run>', 'run folder, or a name in runs/')
    .addArgument(new Argument('<command>', 'what to do').choices(controlCommands))
    .option('--timeout <seconds>', 'how long to wait for the effect', seconds, 10)
    .option('--json', 'one JSON object: {run, command, id, offset}')
    .addHelpText('after', '\nExample:\n  $ cascade control runs/first pause')
    .action((run: string, command: InboxCommand['command'], flags: Flags) =>
      withRun(context, run, (open) => act(open, command, flags, context)),
    )
}

async function act(
  open: OpenRun,
  command: InboxCommand['command'],
  flags: Flags,
  context: Context,
): Promise<void> {
  const { dir, log, manifest } = open
  const from = await log.offset(control.name, 'latest')
  if ((await runningProcess(dir)) === undefined) {
    throw new CascadeError(
      'RUN_NOT_RUNNING',
      `${dir}: expected a run that is going on, got one that no process writes`,
    )
  }
  const id = await submitCommand(logFolder(dir), command)
  const offset = await tookEffect(open, from, id, flags.timeout * 1000, context.signal)
  const result = { run: manifest.runId, command, id, offset }
  context.stdout.write(flags.json ? `${JSON.stringify(result)}\n` : `${effects[command]}\n`)
}

/** Offset of the control record that carries the command. @throws `CONTROL_TIMEOUT` */
async function tookEffect(
  { dir, log }: OpenRun,
  from: number,
  id: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<number> {
  const found = new AbortController()
  const late = AbortSignal.timeout(Math.ceil(timeoutMs))
  let offset: number | undefined
  try {
    const seen = ({ value, offset: at }: Envelope<Control>) => {
      if (value.type !== 'command' || value.id !== id) return
      offset = at
      found.abort()
    }
    await follow(log, control, { from, signal: AbortSignal.any([signal, late, found.signal]) }, seen)
  } catch (error) {
    if (offset !== undefined) return offset
    if (!late.aborted || signal.aborted) throw error
  }
  throw new CascadeError(
    'CONTROL_TIMEOUT',
    `${dir}: expected the command to take effect within ${timeoutMs / 1000} s, got no word of it; it stays submitted ` +
      `and takes effect as soon as the run gets to it`,
  )
}

function seconds(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value <= 2e6))
    throw new InvalidArgumentError('expected seconds above 0, at most 2000000.')
  return value
}
