import { follow, recordAt } from '../../../../streams/follow.ts'
import type { TopicLog } from '../../../../streams/ports.ts'
import {
  type BatchClosed,
  CascadeError,
  type Checkpoint,
  type Evaluation,
  evaluations,
  type RlStage,
  type Update,
  updates,
} from '../../../../topics/index.ts'
import type { OpenRun } from '../../open-run.ts'
import { checkpointNamed } from '../../run/find-checkpoint.ts'
import type { Range } from '../range.ts'
import { closedSteps, committed, isThere, startOf, updatesSince } from '../recorded-plan.ts'
import { firstOffset, wholeFrom } from '../step-order.ts'

/** What training on the rollouts of a range comes to. */
export interface TrainPlan {
  readonly stage: RlStage
  /** Whose weights and moments it starts from, after the steps of `before` have been applied to them as they were recorded. */
  readonly start: Checkpoint
  readonly before: readonly BatchClosed[]
  /** Of the weights that the first step updates. */
  readonly version: number
  /** In the middle of the stage: its optimiser goes on. */
  readonly goesOn: boolean
  /** What the stage's KL term refers to, where that is not the start. */
  readonly reference: Checkpoint | undefined
  /** Closed steps of the range, with an update or without. */
  readonly steps: readonly BatchClosed[]
  /** The start is what the run went on from at the first step. */
  readonly onLine: boolean
  /** Committed checkpoints of the run, in order. */
  readonly checkpoints: readonly Checkpoint[]
}

/**
 * Finds the steps of a range, which has to hold all of each, and the weights to start from: those that the first step began with, or a
 * checkpoint that `from` names.
 *
 * @throws `USAGE` for a range that is no whole steps of one stage; `CHECKPOINT_NOT_FOUND`, `LOG_OFFSET_GONE`
 */
export async function trainPlan(
  { dir, log, manifest }: OpenRun,
  range: Range,
  { from, signal }: { from: string | undefined; signal: AbortSignal },
): Promise<TrainPlan> {
  if (manifest.rescored) {
    const { run } = manifest.rescored
    throw new CascadeError(
      'USAGE',
      `--train: expected a run that sampled its rollouts, got ${manifest.runId}, whose rollouts ${run} has sampled: replay that one`,
    )
  }
  const [first, last] = await wholeSteps(log, range)
  const stage = manifest.config.stages.find((s) => s.name === first.stage)
  if (stage?.kind !== 'rl' || last.stage !== stage.name) {
    throw new CascadeError(
      'USAGE',
      `--train: expected a range of one stage, got one from ${first.stage}/${first.step} to ${last.stage}/${last.step}: narrow it with --from stage:NAME --to stage:NAME`,
    )
  }
  const [low, high] = [range.order(first), range.order(last)]
  const closed = await closedSteps(log, signal)
  const steps = closed.filter((c) => range.order(c) >= low && range.order(c) <= high)
  const [begin] = steps
  if (!begin) {
    throw new CascadeError(
      'USAGE',
      `--train: expected a range with a closed step, got ${range.topic.name} from ${first.stage}/${first.step}, which is still open`,
    )
  }
  const earlier = closed.filter((c) => range.order(c) < low)
  const ofStage = closed.find((c) => c.stage === stage.name)!
  const begun = earlier.some((c) => c.stage === stage.name && c.version > c.baseVersion)
  const all = await committed(dir, log, signal)
  const plan = { stage, steps, checkpoints: all }
  const referenceOf = (goesOn: boolean) =>
    goesOn && stage.klCoef > 0 ? beginOf(dir, all, ofStage) : undefined
  if (from === undefined) {
    const start = startOf(dir, all, begin)
    return {
      ...plan,
      start,
      before: updatesSince(start, earlier),
      version: begin.baseVersion,
      goesOn: begun,
      reference: referenceOf(begun),
      onLine: true,
    }
  }
  const start = checkpointNamed(all, from, '--from-checkpoint')
  if (!isThere(dir, start)) {
    throw new CascadeError(
      'CHECKPOINT_NOT_FOUND',
      `${dir}: expected the files of checkpoint ${start.id} in ${start.path}, got none; the run keeps those of stages' ends and the newest others`,
    )
  }
  const goesOn = start.reason === 'interval' && start.stage === stage.name
  return {
    ...plan,
    start,
    before: [],
    version: start.version,
    goesOn,
    reference: referenceOf(goesOn),
    onLine: start.version === begin.baseVersion && goesOn === begun,
  }
}

/** The first and the last step of a range. @throws `USAGE` where a part of either lies outside of it */
async function wholeSteps(log: TopicLog, { topic, from, to, order }: Range) {
  const first = (await recordAt(log, topic, from))?.value
  const last = (await recordAt(log, topic, to - 1))?.value
  if (!first || !last) {
    throw new CascadeError(
      'LOG_OFFSET_GONE',
      `topic ${topic.name}: offsets ${from} to ${to - 1} are not there`,
    )
  }
  const begin = await wholeFrom(log, topic, order, order(first), `step ${first.stage}/${first.step}`)
  const end = await firstOffset(log, topic, order, order(last) + 1)
  const refuse = (option: string, { stage, step }: typeof first, what: string) =>
    new CascadeError(
      'USAGE',
      `--train: expected a range of whole steps, got one that ${what} within step ${stage}/${step}: ${option} step:${stage}/${step} has all of it`,
    )
  if (begin !== from) throw refuse('--from', first, `begins at offset ${from},`)
  if (end !== to) throw refuse('--to', last, `ends at offset ${to},`)
  return [first, last] as const
}

/** The checkpoint that a stage began from. */
function beginOf(dir: string, all: readonly Checkpoint[], { stage, baseVersion }: BatchClosed): Checkpoint {
  const found = all.findLast(
    (c) => c.reason !== 'interval' && c.stage !== stage && c.version <= baseVersion && isThere(dir, c),
  )
  if (found) return found
  throw new CascadeError(
    'CHECKPOINT_NOT_FOUND',
    `${dir}: expected the files of the checkpoint that stage ${stage} began from (version ${baseVersion}), which its KL term refers to, got none`,
  )
}

/** Seconds that updates and evaluations would take if they took as long as the run's own did; nothing where it has no record of any. */
export async function estimate(
  log: TopicLog,
  { stage, steps }: TrainPlan,
  signal: AbortSignal,
): Promise<number | undefined> {
  const wanted = new Set(steps.map((s) => s.step))
  const durations: number[] = []
  const scoring = new Map<string, number>()
  const all = async (topic: string) => ({
    from: await log.offset(topic, 'earliest'),
    until: 'end' as const,
    signal,
  })
  await follow<Update>(log, updates, await all(updates.name), ({ value: u }) => {
    if (u.stage === stage.name && wanted.has(u.step)) durations.push(u.durationMs)
  })
  await follow<Evaluation>(log, evaluations, await all(evaluations.name), ({ value: e }) => {
    scoring.set(e.domain, e.durationMs)
  })
  if (durations.length === 0) return undefined
  const mean = durations.reduce((sum, ms) => sum + ms, 0) / durations.length
  const evaluating = [...scoring.values()].reduce((sum, ms) => sum + ms, 0)
  return (mean * steps.length + 2 * evaluating) / 1000
}
