import { z } from 'zod'
import { finite, logprobsMode } from './common.ts'

/** A stage as data: what a config writes and what `control` records. */

const optimiser = {
  lr: finite.min(0),
  /** Steps over which the learning rate rises linearly from 0. */
  warmup: z.int().min(0).default(0),
  /** `cosine` and `linear` would reach 0 one step after the last. */
  schedule: z.enum(['constant', 'cosine', 'linear']).default('constant'),
  betas: z.tuple([finite.min(0).lt(1), finite.min(0).lt(1)]).default([0.9, 0.95]),
  eps: finite.positive().default(1e-8),
  weightDecay: finite.min(0).default(0),
  maxGradNorm: finite.positive().default(1),
  /** Start the moments afresh when the stage begins. */
  resetOptimizer: z.boolean().default(true),
  /** A checkpoint at every step that is a multiple of it and changes weights, and always at the stage's end. Batches in between are re-applied after a crash. */
  checkpointEvery: z.int().min(1).default(10),
}

const common = {
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]*$/, 'expected lower-case letters, digits and hyphens')
    .refine((name) => name !== 'start', 'expected a name other than start, which the untrained scores have'),
  domain: z.string().regex(/^[a-z0-9][a-z0-9-]*$/, 'expected lower-case letters, digits and hyphens'),
  steps: z.int().min(1),
  ...optimiser,
}

export const sftStageSchema = z.strictObject({
  kind: z.literal('sft'),
  ...common,
  /** Tasks whose demonstrations it learns from. */
  tasks: z.array(z.string()).min(1),
  /** Rows a step. */
  batch: z.int().min(1),
})

/** When a stage ends before its last step: see `streams/exit-rule.ts`. The first rule that holds at the close of a step ends it. */
export const exitSchema = z.strictObject({
  /** Share of responses cut off at the length cap, mean over the window, at or under this. */
  clipShare: finite.min(0).max(1).optional(),
  /** Mean reward over the window less that over the window before, at or under this. */
  plateau: finite.optional(),
  /** Mean reward over the window, at or above this. */
  reward: finite.optional(),
  /** Wall time since the stage began, at or above this. */
  seconds: finite.positive().optional(),
  /** Steps of a mean. */
  window: z.int().min(1).max(1000).default(10),
  /** Steps before which no rule ends the stage. */
  minSteps: z.int().min(1).default(1),
})

export const rlStageSchema = z.strictObject({
  kind: z.literal('rl'),
  ...common,
  task: z.string(),
  /** Rewards its rollouts. Held-out prompts are scored by the task's own, whatever stands here. @default the task's own */
  verifier: z.string().min(1).optional(),
  /** B: kept groups a step. */
  prompts: z.int().min(1),
  /** G: rollouts a prompt. */
  groupSize: z.int().min(2),
  maxTokens: z.int().min(1),
  temperature: finite.positive().default(1),
  topP: finite.gt(0).max(1).default(1),
  topK: z.int().min(0).default(0),
  logprobsMode: logprobsMode.default('processed'),
  /** What a response that hit the length cap becomes: see `streams/advantages.ts`. */
  overlong: z.enum(['skip', 'zero', 'mask', 'score']).default('score'),
  /** A group whose rewards spread at most this much has no signal and is left out. */
  minSpread: finite.min(0).default(1e-6),
  /** Admissions a step at most, as a multiple of `prompts`: above 1, groups that were not kept are replaced. */
  refill: finite.min(1).default(1),
  /** Kept groups below which a step closes without an update. */
  minGroups: z.int().min(1).default(1),
  /** Steps in a row without an update after which the stage cannot go on. */
  patience: z.int().min(1).default(10),
  exit: exitSchema.optional(),
  /** `batch`: mean over the batch's tokens. `group`: over each group's. `response`: over each response's. `constant`: over B x G x maxTokens. */
  normaliser: z.enum(['batch', 'group', 'response', 'constant']).default('batch'),
  deviation: z.enum(['population', 'sample']).default('population'),
  /** Ratios are clipped to [1 - clipLow, 1 + clipHigh]; absent means strictly on-policy, where the ratio is 1. */
  clipLow: finite.positive().optional(),
  clipHigh: finite.positive().optional(),
  /** Weight of the KL to the policy that the stage began with (k3 estimator). */
  klCoef: finite.min(0).default(0),
  /** Share of error verdicts above which the stage stops. */
  maxErrorShare: finite.min(0).max(1).default(0.2),
  /** A control arm: rewards are permuted across the prompts of a batch, so that nothing can be learnt from them. */
  permuteRewards: z.boolean().default(false),
})

export const stageSpecSchema = z.discriminatedUnion('kind', [sftStageSchema, rlStageSchema])
export type SftStage = z.infer<typeof sftStageSchema>
export type RlStage = z.infer<typeof rlStageSchema>
export type StageSpec = z.infer<typeof stageSpecSchema>
/** A stage as a config writes it, before defaults. */
export type StageInput = z.input<typeof stageSpecSchema>

/** The domains that reinforcement-learning stages train, each once, in the order of the stages. */
export function rlDomains(stages: readonly StageSpec[]): string[] {
  return [...new Set(stages.flatMap((s) => (s.kind === 'rl' ? [s.domain] : [])))]
}
