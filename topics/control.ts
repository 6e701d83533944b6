import { z } from 'zod'
import { count, finite } from './common.ts'
import { stageSpecSchema } from './stage-spec.ts'
import { defineTopic, type Topic } from './topic.ts'

/** One writer at a time: a record of an older epoch, or out of sequence, is dropped by every reader. */
const fenced = { epoch: z.int().min(1), seq: count }

export const runBegin = z.looseObject({
  type: z.literal('run-begin'),
  ...fenced,
  runId: z.string(),
  seed: count,
  deterministic: z.boolean(),
  configHash: z.string(),
  stages: z.array(stageSpecSchema),
})

export const stageBegin = z.looseObject({
  type: z.literal('stage-begin'),
  ...fenced,
  stage: z.string(),
  index: count,
  /** The version it starts from. */
  version: count,
})

/** The composition and the order of one step: replay takes both from here. */
export const batchClosed = z.looseObject({
  type: z.literal('batch-closed'),
  ...fenced,
  stage: z.string(),
  step: z.int().min(1),
  baseVersion: count,
  /** `baseVersion` where the step closes without an update. */
  version: count,
  /** The first update of its stage: the optimiser may start afresh. */
  opens: z.boolean(),
  /** Kept groups in order of admission. */
  groups: z.array(
    z.object({
      groupId: z.string(),
      admission: count,
      outcomeOffset: count,
      /** sha256 over the hashes of the group's rollouts and its rewards. */
      hash: z.string(),
    }),
  ),
  /** SFT: offsets `[from, to)` of the step's demonstrations. */
  demonstrations: z.object({ from: count, to: count }).optional(),
  /**
   * Rollouts that another policy than the one updated has sampled, as where stored ones are trained on: the ratio to their recorded
   * log-probabilities is then part of the loss, between these bounds.
   */
  offPolicy: z
    .looseObject({
      /** Updates, at most, since both policies were the same. */
      staleness: z.int().min(1),
      clipLow: finite.positive().optional(),
      clipHigh: finite.positive().optional(),
    })
    .optional(),
  /** Fields of the stage that were set while it went on, as they hold for this step. */
  settings: z.record(z.string(), finite).optional(),
  counts: z.looseObject({ admitted: count, kept: count, filtered: count, lost: count }),
  /** Means over every member with a reward of the groups admitted, kept or not. */
  stats: z.record(z.string(), finite).optional(),
  reason: z.string().optional(),
})

/** Intake of the stage has stopped and every step is closed: flush and checkpoint. */
export const stageDrain = z.looseObject({
  type: z.literal('stage-drain'),
  ...fenced,
  stage: z.string(),
  /** Steps that were closed. */
  steps: count,
  version: count,
  /** Why no further one begins; absent in older records. */
  reason: z.string().optional(),
})

export const stageEnd = z.looseObject({
  type: z.literal('stage-end'),
  ...fenced,
  stage: z.string(),
  steps: count,
  version: count,
  checkpoint: z.string(),
  reason: z.string(),
  seconds: finite,
})

/** What a person asked for, as it took effect. */
export const command = z.looseObject({
  type: z.literal('command'),
  ...fenced,
  command: z.enum(['pause', 'resume', 'stop', 'finish-stage']),
  /** On `finish-stage`: the stage that begins no further step. */
  stage: z.string().optional(),
  refused: z.string().optional(),
  /** Id under which it was submitted. */
  id: z.string(),
})

export const settingAsked = z.looseObject({
  stage: z.string().min(1),
  /** A field of the stage. */
  field: z.string().min(1),
  value: finite,
})
export type SettingAsked = z.infer<typeof settingAsked>

/** A field of a stage that has another value from a step on, or why it has not. */
export const stageSetting = z.looseObject({
  type: z.literal('set'),
  ...fenced,
  ...settingAsked.shape,
  /** The first step that it holds for: nothing of it was admitted before. */
  step: z.int().min(1),
  refused: z.string().optional(),
  /** Id under which it was submitted. */
  id: z.string(),
})
export type StageSetting = z.infer<typeof stageSetting>

/** What may be done to the versions of a verifier while a run goes on. */
export const verifierActions = ['stage', 'promote', 'rollback', 'withdraw'] as const

export const verifierAsked = z.looseObject({
  action: z.enum(verifierActions),
  /** The verifier whose versions these are, as prompts name it. */
  name: z.string().min(1),
  /** Of the version that is staged; the others say nothing here. */
  version: z.string().min(1).optional(),
  /** sha256 over its code, with all that it imports, and its options: where the run's store keeps it. */
  codeHash: z.string().min(1).optional(),
  /** On `promote`: not at once, but when so many rollouts were judged by both with at most this share of flips and of errors. */
  rule: z.object({ after: z.int().min(1), maxFlips: finite, maxErrors: finite }).optional(),
  reason: z.string().optional(),
})
export type VerifierAsked = z.infer<typeof verifierAsked>

/** A change to a verifier's versions as it took effect, or why it did not. It holds for groups that have no verdict yet. */
export const verifierChange = z.looseObject({
  type: z.literal('verifier'),
  ...fenced,
  ...verifierAsked.shape,
  refused: z.string().optional(),
  /** Id under which it was submitted. */
  id: z.string(),
})
export type VerifierChange = z.infer<typeof verifierChange>

export const runEnd = z.looseObject({ type: z.literal('run-end'), ...fenced, version: count })

export const controlSchema = z.discriminatedUnion('type', [
  runBegin,
  stageBegin,
  batchClosed,
  stageDrain,
  stageEnd,
  command,
  stageSetting,
  verifierChange,
  runEnd,
])
export type Control = z.infer<typeof controlSchema>
export type BatchClosed = z.infer<typeof batchClosed>
export type StageDrain = z.infer<typeof stageDrain>
export type StageEnd = z.infer<typeof stageEnd>

export const control: Topic<Control> = defineTopic<Control>({
  name: 'control',
  version: 1,
  schema: controlSchema,
  key: (c) => c.type,
})
