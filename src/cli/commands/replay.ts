import { Option } from 'commander'
import { CascadeError } from '../../../topics/index.ts'
import type { Context, Register } from '../command.ts'
import { withRun } from '../open-run.ts'
import { type FilterFlags, verdicts } from '../replay/filter.ts'
import { inspect } from '../replay/inspect.ts'
import { domainOf, rangeOf } from '../replay/range.ts'
import { recorded } from '../replay/recorded.ts'
import { rescored } from '../replay/rescored.ts'

const modes = ['inspect', 'recorded', 'rescored'] as const

interface Flags extends FilterFlags {
  topic: string
  from: string
  to: string
  mode: (typeof modes)[number]
  judgedBy?: string
  dir?: string
  train?: true
  fromCheckpoint?: string
  apply?: true
  inexact?: true
  json?: true
}

export const register: Register = (program, context) => {
  program
    .command('replay')
    .description(
      'Go through stored rollouts again: say what a range of them holds, rebuild gradient batches and weights from the recorded rewards, bit for bit, or judge them with another verifier into a run of its own.',
    )
    .argument('[run]', 'run folder, or a name in runs/ (default: the newest run there)')
    .requiredOption('--topic <topic>', 'rollouts.<domain>')
    .option('--from <place>', 'earliest, an offset, an ISO time, stage:NAME or step:STAGE/N', 'earliest')
    .option('--to <place>', 'the same; an offset or a time is not included, a stage or a step is', 'latest')
    .addOption(new Option('--mode <mode>', 'what to do').choices(modes).default('inspect'))
    .addOption(new Option('--verdict <kind>', 'inspect, rescored: only these').choices(verdicts))
    .option(
      '--verifier <name>',
      'inspect: the same as --judged-by; rescored: who judges, a built-in one or a file',
    )
    .option('--judged-by <name>', 'inspect, rescored: only what it judged, as NAME or NAME@VERSION')
    .option('--reward <min..max>', 'inspect, rescored: only rewards in this range')
    .option('--prompt <id>', 'inspect, rescored: only rollouts of this prompt')
    .option('--apply', 'recorded, rescored: do it, instead of saying what would be read and written')
    .option('--dir <run>', 'rescored: folder of the new run (default: runs/<time>)')
    .option('--train', 'rescored: train on with the new rewards, step by step, from where the range began')
    .option(
      '--from-checkpoint <name>',
      'with --train: start from this one of the run instead: latest, the name of a stage, or (the beginning of) an id',
    )
    .option('--inexact', 'recorded: go on where the weights need not be those of the run')
    .option(
      '--json',
      'JSON lines, by event: rollout and summary; plan, step, result, report, evaluation and trained',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ cascade replay runs/first --topic rollouts.math --from step:math/3 --verdict unparsable\n  $ cascade replay runs/first --topic rollouts.math --from stage:math --mode recorded --apply\n  $ cascade replay runs/first --topic rollouts.math --mode rescored --verifier ./strict.ts --dir runs/strict --train --apply',
    )
    .action((run: string | undefined, flags: Flags) => replay(run, flags, context))
}

/** Options that only one mode has a use for. */
const only: Readonly<Record<string, readonly Flags['mode'][]>> = {
  verdict: ['inspect', 'rescored'],
  verifier: ['inspect', 'rescored'],
  judgedBy: ['inspect', 'rescored'],
  reward: ['inspect', 'rescored'],
  prompt: ['inspect', 'rescored'],
  train: ['rescored'],
  fromCheckpoint: ['rescored'],
  apply: ['recorded', 'rescored'],
  dir: ['rescored'],
  inexact: ['recorded'],
}

async function replay(run: string | undefined, flags: Flags, context: Context): Promise<void> {
  for (const [name, fitting] of Object.entries(only)) {
    if (flags[name as keyof Flags] === undefined || fitting.includes(flags.mode)) continue
    throw new CascadeError(
      'USAGE',
      `--${name.replaceAll(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}: expected with --mode ${fitting.join(' or ')}, got --mode ${flags.mode}`,
    )
  }
  await withRun(context, run, async (open) => {
    const { stages } = open.manifest.config
    const range = await rangeOf(open.log, domainOf(flags.topic, stages), stages, flags)
    const { verifier, judgedBy, ...rest } = flags
    const filtering = (name: string | undefined) => (name === undefined ? rest : { ...rest, verifier: name })
    if (flags.mode === 'inspect') await inspect(open, range, filtering(judgedBy ?? verifier), context)
    else if (flags.mode === 'recorded') await recorded(open, range, flags, context)
    else await rescored(open, range, verifier, filtering(judgedBy), context)
  })
}
