import { concatMap, defer, type Observable } from 'rxjs'
import {
  CascadeError,
  type Control,
  type GradientBatch,
  gradientBatches,
  type StageDrain,
  type StageSpec,
} from '../topics/index.ts'
import { explored, supervised } from './batch-content.ts'
import { type Delivery, derive } from './delivery.ts'
import { Fence } from './fence.ts'
import { learningRate } from './learning-rate.ts'
import { microBatches, type Plan } from './micro-batches.ts'
import type { Append, Envelope, TopicLog } from './ports.ts'
import { withSettings } from './stage-settings.ts'

export interface PackOptions {
  stages: readonly StageSpec[]
  /** Seed of the run: what `permuteRewards` draws from. */
  seed: number
  plan: Plan
}

/**
 * Turns each `batch-closed` into the gradient batch that it describes, reading outcomes and tokens back from
 * the log by offset: between steps it holds nothing. `stage-drain` becomes a flush. One at a time, in order.
 *
 * Errors: `STREAM_PROTOCOL` where what the log has at an offset is not what the step closed with, or a rollout is not of
 * the step's policy version; `LOG_OFFSET_GONE`, and those of `TopicLog.fetch`.
 */
export function pack(
  log: TopicLog,
  options: PackOptions,
): (source: Observable<Delivery<Envelope<Control>>>) => Observable<Delivery<readonly Append[]>> {
  return (source) =>
    defer(() => {
      const fence = new Fence()
      return source.pipe(
        concatMap(async (delivery) => {
          const record = delivery.value.value
          const value = fence.admits(record) ? await gradientBatchOf(log, options, record) : undefined
          const append: Append[] = value ? [{ topic: gradientBatches, value }] : []
          return derive<readonly Append[]>(delivery, append)
        }),
      )
    })
}

/** What a control record asks the update sink for, if anything. Errors: those of {@link pack}. */
export async function gradientBatchOf(
  log: Pick<TopicLog, 'fetch'>,
  options: PackOptions,
  record: Control,
): Promise<GradientBatch | undefined> {
  if (record.type === 'stage-drain') {
    const { domain } = stageNamed(options, record.stage)
    return flush(record, domain)
  }
  if (record.type !== 'batch-closed' || record.version === record.baseVersion) return undefined
  const stage = withSettings(stageNamed(options, record.stage), record.settings)
  const content =
    stage.kind === 'sft'
      ? await supervised(log, stage, record)
      : await explored(log, stage, record, options.seed)
  return {
    id: `${record.stage}/${record.step}`,
    kind: 'batch',
    stage: stage.name,
    domain: stage.domain,
    step: record.step,
    baseVersion: record.baseVersion,
    version: record.version,
    members: content.members,
    microBatches: microBatches(content.rows, options.plan),
    options: {
      lr: learningRate(stage, record.step),
      betas: stage.betas,
      eps: stage.eps,
      weightDecay: stage.weightDecay,
      maxGradNorm: stage.maxGradNorm,
      temperature: stage.kind === 'rl' && stage.logprobsMode === 'processed' ? stage.temperature : 1,
      ...(stage.kind === 'rl' ? bounds(record.offPolicy ?? stage) : {}),
      klCoef: stage.kind === 'rl' ? stage.klCoef : 0,
      objective: stage.kind === 'sft' ? 'likelihood' : 'policy',
    },
    resetOptimizer: record.opens && stage.resetOptimizer,
    // The last step's comes with the flush.
    checkpoint: record.step % stage.checkpointEvery === 0 && record.step < stage.steps,
    ...(record.offPolicy ? { staleness: record.offPolicy.staleness } : {}),
    stats: content.stats,
  }
}

function bounds({ clipLow, clipHigh }: { clipLow?: number | undefined; clipHigh?: number | undefined }) {
  return {
    ...(clipLow === undefined ? {} : { clipLow }),
    ...(clipHigh === undefined ? {} : { clipHigh }),
  }
}

function flush({ stage, steps, version }: StageDrain, domain: string): GradientBatch {
  return {
    id: `${stage}/flush`,
    kind: 'flush',
    stage,
    domain,
    step: steps,
    baseVersion: version,
    version,
    members: [],
    microBatches: [],
    resetOptimizer: false,
    checkpoint: true,
    stats: {},
  }
}

function stageNamed(options: PackOptions, name: string): StageSpec {
  const stage = options.stages.find((s) => s.name === name)
  if (!stage)
    throw new CascadeError('STREAM_PROTOCOL', `control names stage ${name}, which the config does not have`)
  return stage
}
