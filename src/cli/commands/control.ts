import { Argument, InvalidArgumentError } from 'commander'
import { control } from '../../../topics/index.ts'
import type { Context, Register } from '../command.ts'
import { type ControlCommand, controlCommands, submitCommand } from '../control-inbox.ts'
import { logFolder, type OpenRun, withRun } from '../open-run.ts'
import { refuseIdle, tookEffect } from '../took-effect.ts'

interface Flags {
  timeout: number
  json?: true
}

const effects = {
  pause: 'paused: the open step is finished, no other is begun',
  resume: 'resumed',
  stop: 'stopping: continue it with cascade run --resume',
} as const

const lateStop =
  'the process that writes the run now stops as soon as it gets to it; if it ends first, the next one goes on'

export const register: Register = (program, context) => {
  program
    .command('control')
    .description('Pause, resume or stop a run that is going on, and wait until that has taken effect.')
    .argument('<run>', 'run folder, or a name in runs/')
    .addArgument(new Argument('<command>', 'what to do').choices(controlCommands))
    .option('--timeout <seconds>', 'how long to wait for the effect', seconds, 10)
    .option('--json', 'one JSON object: {run, command, id, offset}')
    .addHelpText('after', '\nExample:\n  $ cascade control runs/first pause')
    .action((run: string, command: ControlCommand, flags: Flags) =>
      withRun(context, run, (open) => act(open, command, flags, context)),
    )
}

async function act(open: OpenRun, command: ControlCommand, flags: Flags, context: Context): Promise<void> {
  const { dir, log, manifest } = open
  const from = await log.offset(control.name, 'latest')
  await refuseIdle(dir)
  const id = await submitCommand(logFolder(dir), command)
  const { offset } = await tookEffect(
    open,
    from,
    id,
    flags.timeout * 1000,
    context.signal,
    ...(command === 'stop' ? [lateStop] : []),
  )
  const result = { run: manifest.runId, command, id, offset }
  context.stdout.write(flags.json ? `${JSON.stringify(result)}\n` : `${effects[command]}\n`)
}

function seconds(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value <= 2e6))
    throw new InvalidArgumentError('expected seconds above 0, at most 2000000.')
  return value
}
