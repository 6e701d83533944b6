import { z } from 'zod'
import { bytes, count, finite, float32s, int32s } from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

/** A right-padded rectangle of rows; row r's real tokens are `tokens[r*cols .. r*cols+lengths[r])`. */
export const microBatchSchema = z.looseObject({
  rows: z.int().min(1),
  cols: z.int().min(2),
  tokens: int32s,
  lengths: int32s,
  /** 1 where the token (predicted from the one before it) is trained on. */
  lossMask: bytes,
  /** One a row: advantage times the loss normaliser's share. */
  rowWeights: float32s,
  /** One a token; absent in strictly on-policy training, where the ratio is 1 by construction. */
  oldLogprobs: float32s.optional(),
  refLogprobs: float32s.optional(),
})
export type MicroBatchRecord = z.infer<typeof microBatchSchema>

export const updateOptionsSchema = z.looseObject({
  lr: finite.min(0),
  betas: z.tuple([finite, finite]),
  eps: finite.positive(),
  weightDecay: finite.min(0),
  maxGradNorm: finite.positive(),
  temperature: finite.positive(),
  clipLow: finite.optional(),
  clipHigh: finite.optional(),
  klCoef: finite.min(0),
  /** What the loss stands for: `likelihood` of demonstrations, or the surrogate of a `policy` gradient. */
  objective: z.enum(['likelihood', 'policy']).optional(),
})
export type UpdateOptionsRecord = z.infer<typeof updateOptionsSchema>

/** What the update sink applies once: version `baseVersion` becomes `version`. A `flush` asks for a checkpoint only. */
export const gradientBatchSchema = z.looseObject({
  id: z.string().min(1),
  kind: z.enum(['batch', 'flush']),
  stage: z.string().min(1),
  domain: z.string().min(1),
  step: count,
  baseVersion: count,
  version: count,
  /** Group ids, or demonstration ids, in the order of `batch-closed`. */
  members: z.array(z.string()),
  microBatches: z.array(microBatchSchema),
  options: updateOptionsSchema.optional(),
  /** Start the optimiser's moments and step count afresh before this batch. */
  resetOptimizer: z.boolean(),
  /** The sink commits a checkpoint with this batch. */
  checkpoint: z.boolean(),
  /** Steps between the policy that sampled and the one updated; absent on-policy. */
  staleness: z.int().min(1).optional(),
  /** Facts for the `updates` record: mean reward, and so on. */
  stats: z.record(z.string(), finite),
})
export type GradientBatch = z.infer<typeof gradientBatchSchema>

export const gradientBatches: Topic<GradientBatch> = defineTopic<GradientBatch>({
  name: 'gradient-batches',
  version: 1,
  schema: gradientBatchSchema,
  key: (b) => b.id,
})
