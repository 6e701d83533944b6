import { concatMap, type Observable } from 'rxjs'
import {
  advantages,
  type BatchClosed,
  CascadeError,
  type Control,
  demonstrations,
  type GradientBatch,
  type GroupOutcome,
  gradientBatches,
  type RlStage,
  rollouts,
  type SftStage,
  type StageSpec,
} from '../topics/index.ts'
import { type Delivery, derive } from './delivery.ts'
import { recordAt } from './follow.ts'
import { hashOutcome } from './group-id.ts'
import { learningRate } from './learning-rate.ts'
import { microBatches, type Plan, type Row } from './micro-batches.ts'
import { tokenWeights } from './normaliser.ts'
import { permuteRewards } from './permute-rewards.ts'
import type { Append, Envelope, TopicLog } from './ports.ts'

export interface PackOptions {
  stages: readonly StageSpec[]
  seed: number
  plan: Plan
}

/**
 * Turns each `batch-closed` into the gradient batch that it describes, reading outcomes and tokens back from
 * the log by offset: between steps it holds nothing. `stage-drain` becomes a flush. One at a time, in order.
 */
export function pack(
  log: TopicLog,
  options: PackOptions,
): (source: Observable<Delivery<Envelope<Control>>>) => Observable<Delivery<readonly Append[]>> {
  return (source) =>
    source.pipe(
      concatMap(async (delivery) => derive(delivery, await packed(log, options, delivery.value.value))),
    )
}

async function packed(log: TopicLog, options: PackOptions, record: Control): Promise<Append[]> {
  if (record.type === 'stage-drain') {
    const { name, domain, steps } = stageNamed(options, record.stage)
    return [{ topic: gradientBatches, value: flush(name, domain, steps, record.version) }]
  }
  if (record.type !== 'batch-closed' || record.version === record.baseVersion) return []
  const stage = stageNamed(options, record.stage)
  const content =
    stage.kind === 'sft' ? await supervised(log, stage, record) : await explored(log, stage, record, options)
  const value: GradientBatch = {
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
      ...(stage.kind === 'rl' ? { clipLow: stage.clipLow, clipHigh: stage.clipHigh } : {}),
      klCoef: stage.kind === 'rl' ? stage.klCoef : 0,
    },
    resetOptimizer: record.opens && stage.resetOptimizer,
    checkpoint: record.step % stage.checkpointEvery === 0,
    stats: content.stats,
  }
  return [{ topic: gradientBatches, value }]
}

interface Content {
  members: string[]
  rows: Row[]
  stats: Record<string, number>
}

async function supervised(log: TopicLog, stage: SftStage, record: BatchClosed): Promise<Content> {
  const range = record.demonstrations
  if (!range)
    throw new CascadeError(
      'STREAM_PROTOCOL',
      `control: step ${record.step} of ${stage.name} names no demonstrations`,
    )
  const rows: Row[] = []
  const members: string[] = []
  for (let at = range.from; at < range.to; ) {
    const { records, next } = await log.fetch(demonstrations, at, { records: range.to - at, bytes: 64 << 20 })
    if (records.length === 0)
      throw new CascadeError('LOG_OFFSET_GONE', `demonstrations: offset ${at} is not there`)
    for (const { value: d } of records) {
      members.push(d.id)
      rows.push({
        prompt: d.promptTokens,
        response: d.responseTokens,
        lossMask: new Uint8Array(d.responseTokens.length).fill(1),
        weight: 0,
      })
    }
    at = next
  }
  const tokens = rows.reduce((sum, r) => sum + r.response.length, 0)
  for (const row of rows) row.weight = 1 / tokens
  return { members, rows, stats: {} }
}

async function explored(
  log: TopicLog,
  stage: RlStage,
  record: BatchClosed,
  options: PackOptions,
): Promise<Content> {
  let outcomes: GroupOutcome[] = []
  for (const group of record.groups) {
    const outcome = await recordAt(log, advantages(stage.domain), group.outcomeOffset)
    if (!outcome || outcome.value.groupId !== group.groupId || hashOutcome(outcome.value) !== group.hash) {
      throw new CascadeError(
        'STREAM_PROTOCOL',
        `advantages.${stage.domain}: offset ${group.outcomeOffset} is not group ${group.groupId} as step ${record.step} closed with it`,
      )
    }
    outcomes.push(outcome.value)
  }
  if (stage.permuteRewards)
    outcomes = permuteRewards(outcomes, stage, `${options.seed}/${stage.name}/${record.step}`)
  const rows: Row[] = []
  const weighted: { group: number; advantage: number; tokens: number }[] = []
  const stats = { reward: 0, passed: 0, responseLength: 0, truncated: 0, members: 0 }
  for (const [index, outcome] of outcomes.entries()) {
    for (const member of outcome.members) {
      if (member.reward !== undefined) {
        stats.reward += member.reward
        stats.responseLength += member.responseLength
        stats.truncated += member.truncated ? 1 : 0
        stats.members += 1
      }
      if (member.fate !== 'trained' || member.advantage === undefined) continue
      const rollout = await recordAt(log, rollouts(stage.domain), member.rolloutOffset)
      if (rollout?.value.id !== member.rolloutId) {
        throw new CascadeError(
          'STREAM_PROTOCOL',
          `rollouts.${stage.domain}: offset ${member.rolloutOffset} is not rollout ${member.rolloutId}`,
        )
      }
      const r = rollout.value
      weighted.push({
        group: index,
        advantage: member.advantage,
        tokens: r.lossMask.reduce((sum, m) => sum + m, 0),
      })
      rows.push({
        prompt: r.promptTokens,
        response: r.responseTokens,
        lossMask: r.lossMask,
        weight: 0,
        // Without clipping a step is strictly on-policy: its ratio is 1 by construction and needs no old log-probability.
        ...(stage.clipLow === undefined && stage.clipHigh === undefined
          ? {}
          : { oldLogprobs: r.responseLogprobs }),
      })
    }
  }
  const weights = tokenWeights(weighted, stage)
  for (const [i, row] of rows.entries()) row.weight = weights[i]!
  const n = Math.max(1, stats.members)
  return {
    members: record.groups.map((g) => g.groupId),
    rows,
    stats: {
      reward: stats.reward / n,
      responseLength: stats.responseLength / n,
      truncated: stats.truncated / n,
      groups: outcomes.length,
      admitted: record.counts.admitted,
    },
  }
}

function flush(stage: string, domain: string, step: number, version: number): GradientBatch {
  return {
    id: `${stage}/flush`,
    kind: 'flush',
    stage,
    domain,
    step,
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
