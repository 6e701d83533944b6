import { createHash } from 'node:crypto'
import { hashOutcome } from '../../../streams/group-id.ts'
import { GroupMembers } from '../../../streams/group-members.ts'
import { gradientBatchOf } from '../../../streams/pack.ts'
import type { Envelope, TopicLog } from '../../../streams/ports.ts'
import {
  type BatchClosed,
  CascadeError,
  type GroupOutcome,
  gradientBatches,
  type Reward,
  type RlStage,
  type Update,
} from '../../../topics/index.ts'
import type { Engine } from '../../model/engine/index.ts'
import { checkpointFiles, encodeCheckpoint } from '../../model/weights/checkpoint.ts'
import { versionedEngine } from '../../policy/versioned-engine.ts'
import { CheckpointStore } from '../../update/checkpoint-store.ts'
import { engineSink } from '../../update/engine-sink.ts'
import { loadWithReference } from '../../update/restore.ts'
import type { OpenRun } from '../open-run.ts'
import { clock, planOf } from '../run/assemble.ts'
import type { RecordedPlan } from './recorded-plan.ts'
import { type StepOrder, stepOrder } from './step-order.ts'
import { StepRewards } from './step-rewards.ts'

export interface RebuiltStep {
  readonly closed: BatchClosed
  readonly batchHash: string
  /** sha256 of the weights' file, as `checkpoints` records it. */
  readonly weightsHash: string
  readonly update: Update
  readonly rows: number
  /** Groups whose rewards are not those that the step closed with. */
  readonly altered: readonly string[]
}

/**
 * Computes the steps of a plan again, one after the other, with the run's own operators: outcomes from rewards, gradient batches from
 * those and the rollouts, weights from gradient batches. Of the log nothing else is read, and nothing is written.
 *
 * @param inexact goes on where the rewards of a group are not those that its step closed with
 * @throws `STREAM_PROTOCOL`, `LOG_OFFSET_GONE`, `CHECKPOINT_NOT_FOUND`, `CHECKPOINT_INVALID`, the signal's reason
 */
export async function* rebuild(
  { dir, log, manifest }: OpenRun,
  engine: Engine,
  plan: RecordedPlan,
  { inexact, signal }: { inexact: boolean; signal: AbortSignal },
): AsyncGenerator<RebuiltStep> {
  const { config, seed } = manifest
  const { stages } = config
  const versioned = versionedEngine(engine)
  const store = new CheckpointStore(dir)
  const stage = await loadWithReference(versioned, store, plan.start, plan.checkpoints)
  // Its `checkpoint`, which writes and prunes, is never called.
  const sink = engineSink({
    versioned,
    store,
    writerEpoch: 0,
    clock,
    checkpoints: [],
    keepLast: 1,
    ...(stage === undefined ? {} : { stage }),
  })
  const order = stepOrder(stages)
  const outcomes = new StepOutcomes(log, order)
  for (const closed of plan.steps) {
    signal.throwIfAborted()
    const spec = stages.find((s) => s.name === closed.stage)
    const rebuilt = spec?.kind === 'rl' ? await outcomes.of(closed, spec) : new Map<number, GroupOutcome>()
    const groups = closed.groups.map((g) => ({ ...g, hash: hashOutcome(rebuilt.get(g.outcomeOffset)!) }))
    const altered = groups.filter((g, i) => g.hash !== closed.groups[i]!.hash).map((g) => g.groupId)
    if (altered.length > 0 && !inexact) {
      throw new CascadeError(
        'STREAM_PROTOCOL',
        `rewards.${spec?.domain}: group ${altered[0]}: its rewards are not those that step ${closed.stage}/${closed.step} closed with; --inexact goes on with them`,
        { context: { groups: altered } },
      )
    }
    const options = { stages, seed, plan: planOf(config) }
    const batch = await gradientBatchOf(replayReads(log, rebuilt), options, { ...closed, groups })
    if (!batch) throw new TypeError(`step ${closed.stage}/${closed.step} has no gradient batch`)
    const update = await sink.apply(batch, 0)
    const files = encodeCheckpoint(engine.config, await engine.exportState())
    yield {
      closed,
      batchHash: sha256(gradientBatches.encode(batch)),
      weightsHash: sha256(files.find((f) => f.name === checkpointFiles.model)!.bytes),
      update,
      rows: update.rows,
      altered,
    }
  }
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** The outcomes of a step's groups, from their terminal records. */
class StepOutcomes {
  readonly #log: TopicLog
  readonly #order: StepOrder
  readonly #rewards = new Map<string, StepRewards>()

  constructor(log: TopicLog, order: StepOrder) {
    this.#log = log
    this.#order = order
  }

  /** Those that the step closed with, by the offsets at which it lists them. @throws `STREAM_PROTOCOL` naming a group that is not whole */
  async of(closed: BatchClosed, stage: RlStage): Promise<Map<number, GroupOutcome>> {
    let reader = this.#rewards.get(stage.domain)
    if (!reader) {
      reader = new StepRewards(this.#log, stage.domain, this.#order)
      this.#rewards.set(stage.domain, reader)
    }
    const groups = groupsOf(await reader.of(closed))
    const outcomes = new Map<number, GroupOutcome>()
    for (const { groupId, outcomeOffset } of closed.groups) {
      const members = groups.get(groupId)
      if (!members?.whole) {
        throw new CascadeError(
          'STREAM_PROTOCOL',
          `rewards.${stage.domain}: expected a terminal record of every member of group ${groupId}, with which step ${closed.stage}/${closed.step} closed, got ${members ? 'fewer' : 'none'}`,
        )
      }
      outcomes.set(outcomeOffset, members.outcome(stage))
    }
    return outcomes
  }
}

/** Groups as their terminal records make them up, by id. @throws `STREAM_PROTOCOL` */
export function groupsOf(terminal: readonly Reward[]): Map<string, GroupMembers> {
  const groups = new Map<string, GroupMembers>()
  for (const reward of terminal) {
    let members = groups.get(reward.groupId)
    if (!members) {
      members = new GroupMembers(reward)
      groups.set(reward.groupId, members)
    }
    members.add(reward)
  }
  return groups
}

/** What a replay may read: rollouts and demonstrations as they are stored, outcomes as they were rebuilt, and nothing else. */
export function replayReads(
  log: TopicLog,
  outcomes: ReadonlyMap<number, GroupOutcome>,
): Pick<TopicLog, 'fetch'> {
  return {
    async fetch(topic, from, limit) {
      if (topic.name.startsWith('rollouts.') || topic.name === 'demonstrations') {
        return log.fetch(topic, from, limit)
      }
      if (!topic.name.startsWith('advantages.')) throw new TypeError(`a replay must not read ${topic.name}`)
      const value = outcomes.get(from)
      if (!value) return { records: [], next: from }
      const { name } = topic
      const record = {
        topic: name,
        offset: from,
        timestamp: 0,
        key: value.groupId,
        headers: {},
        value,
        bytes: 0,
      }
      return { records: [record as Envelope<unknown> as Envelope<never>], next: from + 1 }
    },
  }
}
