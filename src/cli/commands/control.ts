import { Argument, InvalidArgumentError } from 'commander'
import { CascadeError, control, type SettingAsked } from '../../../topics/index.ts'
import type { Context, Register } from '../command.ts'
import { type ControlCommand, controlCommands, submitCommand, submitSetting } from '../control-inbox.ts'
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
  'finish-stage': 'finishing the stage: the open step is its last',
} as const

const lateStop =
  'the process that writes the run now stops as soon as it gets to it; if it ends first, the next one goes on'

export const register: Register = (program, context) => {
  program
    .command('control')
    .description(
      'Pause, resume or stop a run that is going on, finish its stage, or set a field of a stage; waits until that has taken effect.',
    )
    .argument('<run>', 'run folder, or a name in runs/')
    .addArgument(new Argument('<command>', 'what to do').choices([...controlCommands, 'set']))
    .argument('[setting]', 'of set: STAGE.FIELD=NUMBER, such as math.lr=5e-5; holds from the next step on')
    .option('--timeout <seconds>', 'how long to wait for the effect', seconds, 10)
    .option('--json', 'one JSON object: {run, command, id, offset}; of set: stage, field, value, step too')
    .addHelpText(
      'after',
      '\nExamples:\n  $ cascade control runs/first pause\n  $ cascade control runs/first set math.lr=5e-5',
    )
    .action((run: string, command: ControlCommand | 'set', setting: string | undefined, flags: Flags) => {
      const asked = askedOf(command, setting)
      return withRun(context, run, (open) => act(open, command, asked, flags, context))
    })
}

async function act(
  open: OpenRun,
  command: ControlCommand | 'set',
  asked: SettingAsked | undefined,
  flags: Flags,
  context: Context,
): Promise<void> {
  const { dir, log, manifest } = open
  const from = await log.offset(control.name, 'latest')
  await refuseIdle(dir)
  const id =
    asked === undefined
      ? await submitCommand(logFolder(dir), command as ControlCommand)
      : await submitSetting(logFolder(dir), asked)
  const { offset, value } = await tookEffect(
    open,
    from,
    id,
    flags.timeout * 1000,
    context.signal,
    ...(command === 'stop' ? [lateStop] : []),
  )
  if ((value.type === 'set' || value.type === 'command') && value.refused !== undefined) {
    throw new CascadeError('USAGE', `control ${command}: ${value.refused}`)
  }
  const result = { run: manifest.runId, command, id, offset }
  if (value.type !== 'set') {
    const effect = effects[command as ControlCommand]
    context.stdout.write(flags.json ? `${JSON.stringify(result)}\n` : `${effect}\n`)
    return
  }
  const { stage, field, value: number, step } = value
  const text = flags.json
    ? JSON.stringify({ ...result, stage, field, value: number, step })
    : `${stage}.${field} is ${number} from step ${step} on`
  context.stdout.write(`${text}\n`)
}

/** @throws `USAGE` */
function askedOf(command: string, setting: string | undefined): SettingAsked | undefined {
  if (command !== 'set') {
    if (setting === undefined) return undefined
    throw new CascadeError('USAGE', `control ${command}: expected nothing after it, got ${setting}`)
  }
  const [, stage, field, text] = /^([^.=]+)\.([^.=]+)=(.+)$/.exec(setting ?? '') ?? []
  const value = Number(text)
  if (stage === undefined || field === undefined || text?.trim() === '' || !Number.isFinite(value)) {
    throw new CascadeError('USAGE', `control set: expected STAGE.FIELD=NUMBER, got ${setting ?? 'nothing'}`)
  }
  return { stage, field, value }
}

function seconds(text: string): number {
  const value = Number(text)
  if (!(value > 0 && value <= 2e6))
    throw new InvalidArgumentError('expected seconds above 0, at most 2000000.')
  return value
}
