import {
  advantages,
  type BatchClosed,
  CascadeError,
  demonstrations,
  type GroupMember,
  type GroupOutcome,
  type RlStage,
  type Rollout,
  rollouts,
  type SftStage,
} from '../topics/index.ts'
import { recordAt } from './follow.ts'
import { hashOutcome } from './group-id.ts'
import { hashRollout } from './hash-rollout.ts'
import type { Row } from './micro-batches.ts'
import { tokenWeights, type Weighted } from './normaliser.ts'
import { permuteRewards } from './permute-rewards.ts'
import type { TopicLog } from './ports.ts'

type Reads = Pick<TopicLog, 'fetch'>

/** What a gradient batch is made of. */
export interface Content {
  /** Group ids, or demonstration ids, in the order in which the step lists them. */
  members: string[]
  rows: Row[]
  stats: Record<string, number>
}

/** The demonstrations of an SFT step: every response token weighs the same, over the whole batch. */
export async function supervised(log: Reads, stage: SftStage, closed: BatchClosed): Promise<Content> {
  const range = closed.demonstrations
  if (!range) throw broken(`control: step ${closed.step} of ${stage.name} names no demonstrations`)
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
  for (const row of rows) row.weight = tokens > 0 ? 1 / tokens : 0
  return { members, rows, stats: {} }
}

/** The trained members of an RL step's groups, in the order of `batch-closed` and of sample index. */
export async function explored(
  log: Reads,
  stage: RlStage,
  closed: BatchClosed,
  seed: number,
): Promise<Content> {
  const recorded = await outcomesOf(log, stage, closed)
  const outcomes = stage.permuteRewards
    ? permuteRewards(recorded, stage, `${seed}/${stage.name}/${closed.step}`)
    : recorded
  // Without clipping a step is strictly on-policy: its ratio is 1 by construction and needs no old log-probability.
  const ratio = stage.clipLow !== undefined || stage.clipHigh !== undefined || closed.offPolicy !== undefined
  const rows: Row[] = []
  const weighted: Weighted[] = []
  let mismatch = 0
  for (const [group, outcome] of outcomes.entries()) {
    for (const member of outcome.members) {
      const { fate, advantage } = member
      if (fate !== 'trained' || advantage === undefined) continue
      const r = await rolloutOf(log, stage.domain, member, closed)
      mismatch += r.mismatch ?? 0
      weighted.push({ group, advantage, tokens: r.lossMask.reduce((sum, m) => sum + m, 0) })
      rows.push({
        prompt: r.promptTokens,
        response: r.responseTokens,
        lossMask: r.lossMask,
        weight: 0,
        ...(ratio ? { oldLogprobs: r.responseLogprobs } : {}),
      })
    }
  }
  const weights = tokenWeights(weighted, stage)
  for (const [i, row] of rows.entries()) row.weight = weights[i]!
  const { admitted, kept, filtered, lost } = closed.counts
  return {
    members: closed.groups.map((g) => g.groupId),
    rows,
    stats: {
      ...closed.stats,
      admitted,
      kept,
      filtered,
      lost,
      groups: new Set(weighted.map((w) => w.group)).size,
      ...(mismatch === 0 ? {} : { mismatch: mismatch / rows.length }),
    },
  }
}

async function outcomesOf(log: Reads, stage: RlStage, closed: BatchClosed): Promise<GroupOutcome[]> {
  const outcomes: GroupOutcome[] = []
  for (const { groupId, outcomeOffset, hash } of closed.groups) {
    const outcome = (await recordAt(log, advantages(stage.domain), outcomeOffset))?.value
    if (outcome?.groupId !== groupId || hashOutcome(outcome) !== hash) {
      throw broken(
        `advantages.${stage.domain}: offset ${outcomeOffset} is not group ${groupId} as step ${closed.step} closed with it`,
      )
    }
    outcomes.push(outcome)
  }
  return outcomes
}

async function rolloutOf(
  log: Reads,
  domain: string,
  member: GroupMember,
  closed: BatchClosed,
): Promise<Rollout> {
  const { rolloutId, rolloutOffset, rolloutHash } = member
  const rollout = (await recordAt(log, rollouts(domain), rolloutOffset))?.value
  if (rollout?.id !== rolloutId || hashRollout(rollout) !== rolloutHash) {
    throw broken(
      `rollouts.${domain}: offset ${rolloutOffset} is not rollout ${rolloutId} as it was when it was scored`,
    )
  }
  if (!closed.offPolicy && rollout.policyVersion !== closed.baseVersion) {
    throw broken(
      `rollouts.${domain}: rollout ${rolloutId}: expected policy version ${closed.baseVersion}, which step ${closed.step} updates, got ${rollout.policyVersion}`,
    )
  }
  return rollout
}

function broken(message: string): CascadeError {
  return new CascadeError('STREAM_PROTOCOL', message)
}
