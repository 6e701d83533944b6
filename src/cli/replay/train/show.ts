import { follow } from '../../../../streams/follow.ts'
import type { TopicLog } from '../../../../streams/ports.ts'
import {
  type Checkpoint,
  checkpoints,
  type Evaluation,
  type Update,
  updates,
} from '../../../../topics/index.ts'
import { percent, rounded, unknown } from '../../output/format.ts'
import { table } from '../../output/table.ts'
import { clipOf } from './begin.ts'
import { digestOf } from './lineage.ts'
import type { TrainPlan } from './plan.ts'
import type { TrainedStep } from './train.ts'

/** What a dry run says of the training. */
export function planFacts(plan: TrainPlan, seconds: number | undefined) {
  const { stage, start, steps, before, version } = plan
  return {
    stage: stage.name,
    checkpoint: start.id,
    version,
    before: before.length,
    steps: steps.length,
    first: steps[0]!.step,
    last: steps.at(-1)!.step,
    batches: steps.filter((s) => s.version > s.baseVersion).length,
    clip: clipOf(stage),
    seconds: seconds === undefined ? null : Math.round(seconds),
  }
}

export function planLines(plan: TrainPlan, seconds: number | undefined): string[] {
  const f = planFacts(plan, seconds)
  const rebuilt =
    f.before > 0 ? `, after ${f.before} steps before the range, rebuilt with their recorded rewards` : ''
  const took =
    seconds === undefined
      ? ''
      : `; about ${rounded(seconds)} s, if updates and held-out scores take as long as the run's did`
  return [
    `would start    from checkpoint ${f.checkpoint}${rebuilt}: weights of version ${f.version}`,
    `would train    on ${f.steps} steps, ${f.stage}/${f.first} to ${f.stage}/${f.last}; ${f.batches} of them had an update${took}`,
    `ratio          to the recorded log-probabilities, once the weights differ from those that sampled, within ${clipText(f.clip)}`,
  ]
}

function clipText({ clipLow, clipHigh }: ReturnType<typeof clipOf>): string {
  const low = clipLow === undefined ? '0' : (1 - clipLow).toFixed(2)
  return `${low} to ${clipHigh === undefined ? 'any' : (1 + clipHigh).toFixed(2)}`
}

export function stepJson({ was, closed, update, checkpoint }: TrainedStep) {
  return {
    event: 'step',
    stage: closed.stage,
    step: closed.step,
    version: closed.version,
    updated: update !== undefined,
    /** Its groups, their rewards and advantages are those that the run closed the step with. */
    same: digestOf(closed) === was.digest,
    groupsBefore: was.groups,
    groups: closed.groups.length,
    filtered: closed.counts.filtered,
    lost: closed.counts.lost,
    reward: closed.stats?.reward ?? null,
    loss: update?.loss ?? null,
    ratioMean: update?.ratioMean ?? null,
    ratioMax: update?.ratioMax ?? null,
    clipFraction: update?.clipFraction ?? null,
    behaviourKl: update?.behaviourKl ?? null,
    staleness: update?.staleness ?? null,
    checkpoint: checkpoint?.id ?? null,
    weights: checkpoint?.weightsHash ?? null,
  }
}

export function stepText({ closed, update }: TrainedStep): string {
  const { stage, step, reason } = closed
  return update
    ? `trained on step ${stage}/${step}: ratio ${update.ratioMean.toFixed(3)}, staleness ${update.staleness}`
    : `step ${stage}/${step} has no update: ${reason}`
}

export function evaluationJson({
  stage,
  domain,
  version,
  checkpoint,
  score,
  interval,
  n,
  passed,
}: Evaluation) {
  return { event: 'evaluation', stage, domain, version, checkpoint, score, interval, n, passed }
}

/** What became of a training, read from its log: whole also where it was interrupted and went on. */
export interface Trained {
  readonly last: Checkpoint
  readonly updates: readonly Update[]
}

export async function readTrained(log: TopicLog, signal: AbortSignal): Promise<Trained> {
  const all: Update[] = []
  let last: Checkpoint | undefined
  const whole = { from: 0, until: 'end', signal } as const
  await follow(log, updates, whole, ({ value }) => void all.push(value))
  await follow(log, checkpoints, whole, ({ value }) => {
    last = value
  })
  return { last: last!, updates: all }
}

export function trainedJson(dir: string, { last, updates: all }: Trained) {
  return {
    event: 'trained',
    dir,
    updates: all.length,
    version: last.version,
    checkpoint: last.id,
    path: last.path,
    weights: last.weightsHash,
    offPolicy: all.filter((u) => u.staleness > 0).length,
    most: {
      staleness: Math.max(0, ...all.map((u) => u.staleness)),
      behaviourKl: Math.max(0, ...all.map((u) => u.behaviourKl ?? 0)),
      clipFraction: Math.max(0, ...all.map((u) => u.clipFraction)),
      ratioMax: Math.max(1, ...all.map((u) => u.ratioMax)),
    },
  }
}

export function trainedText(shown: string, { last, updates: all }: Trained): string {
  const right = (title: string) => ({ title, align: 'right' as const })
  const number = (x: number | undefined, digits: number) => x?.toFixed(digits) ?? unknown
  const columns = ['version', 'reward', 'ratio', 'most', 'KL', 'clipped', 'staleness'].map(right)
  const lines = table(
    [{ title: 'step' }, ...columns],
    all.map((u) => [
      u.id,
      String(u.version),
      number(u.stats.reward, 4),
      number(u.ratioMean, 4),
      number(u.ratioMax, 2),
      number(u.behaviourKl, 5),
      percent(u.clipFraction),
      String(u.staleness),
    ]),
  )
  const steps = all.length === 0 ? ['no step has an update'] : lines
  return [
    ...steps,
    '',
    `weights of version ${last.version}: sha256 ${last.weightsHash}`,
    `train on from there, with fresh rollouts: model: { init: '${shown}/${last.path}' } in a config`,
    '',
  ].join('\n')
}
