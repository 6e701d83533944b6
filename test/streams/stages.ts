import { groupAdvantages } from '../../streams/advantages.ts'
import {
  type BatchClosed,
  type Checkpoint,
  type Control,
  type GroupOutcome,
  type RlStage,
  rlStageSchema,
  type SftStage,
  sftStageSchema,
} from '../../topics/index.ts'
import { reward } from './helpers.ts'

/** Stages as a config writes them, small, with every default. */
export function rlStage(over: Partial<RlStage> = {}): RlStage {
  return rlStageSchema.parse({
    kind: 'rl',
    name: 'math',
    domain: 'math',
    task: 'math',
    steps: 3,
    lr: 0.1,
    prompts: 2,
    groupSize: 2,
    maxTokens: 8,
    ...over,
  })
}

export function sftStage(over: Partial<SftStage> = {}): SftStage {
  return sftStageSchema.parse({
    kind: 'sft',
    name: 'sft',
    domain: 'mixed',
    tasks: ['math'],
    steps: 3,
    lr: 0.1,
    batch: 2,
    ...over,
  })
}

/** The outcome of a group whose members got these rewards; one without a reward is an error. */
export function outcomeOf(
  stage: RlStage,
  at: { step?: number; admission: number; groupId?: string; policyVersion?: number },
  rewards: readonly (number | undefined)[],
  truncated: readonly number[] = [],
): GroupOutcome {
  const { admission, step = 1, groupId = `${stage.name}-${admission}`, policyVersion = 3 } = at
  const judged = rewards.map((r, index) => ({
    rolloutId: `${groupId}:${index}`,
    index,
    rolloutOffset: admission * stage.groupSize + index,
    rolloutHash: `${groupId}:${index}`,
    ...(r === undefined ? {} : { reward: r }),
    responseLength: 2 + index,
    truncated: truncated.includes(index),
  }))
  const { dataset, promptId, epoch, visit } = reward()
  return {
    groupId,
    groupSize: rewards.length,
    stage: stage.name,
    domain: stage.domain,
    dataset,
    promptId,
    epoch,
    step,
    admission,
    visit,
    policyVersion,
    verifier: 'exact',
    verifierVersion: '1',
    ...groupAdvantages(judged, stage),
  }
}

export function checkpointOf(over: Partial<Checkpoint> = {}): Checkpoint {
  return {
    id: 'c0',
    stage: 'start',
    step: 0,
    version: 0,
    reason: 'initial',
    path: 'checkpoints/c0',
    writerEpoch: 1,
    contentHash: 'h',
    weightsHash: 'h',
    gradientBatchOffset: 0,
    files: [],
    ...over,
  }
}

/** Control records of one coordinator, numbered as they are made. */
export function controlWriter(epoch = 1) {
  let seq = 0
  type Body<C = Control> = C extends Control ? Omit<C, 'epoch' | 'seq'> : never
  return (body: Body): Control => ({ ...body, epoch, seq: seq++ }) as Control
}

export function closed(over: Partial<BatchClosed> = {}): Omit<BatchClosed, 'epoch' | 'seq'> {
  return {
    type: 'batch-closed',
    stage: 'math',
    step: 1,
    baseVersion: 0,
    version: 1,
    opens: true,
    groups: [],
    counts: { admitted: 2, kept: 2, filtered: 0, lost: 0 },
    ...over,
  }
}
