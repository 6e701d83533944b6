import { z } from 'zod'
import { count, finite } from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

/** One applied gradient batch and what it measured. */
export const updateSchema = z.looseObject({
  id: z.string().min(1),
  stage: z.string().min(1),
  domain: z.string().min(1),
  step: z.int().min(1),
  version: z.int().min(1),
  gradientBatchOffset: count,
  /** Mean of `-log p` over the trained tokens in supervised training, otherwise the surrogate loss with the KL term. */
  loss: finite,
  /** Mean of `-log p` over the trained tokens, in nats. */
  nll: finite.optional(),
  gradNorm: finite,
  entropy: finite,
  kl: finite,
  clipFraction: finite,
  ratioMean: finite,
  ratioMax: finite,
  lr: finite,
  /** Tokens that carried loss. */
  tokens: count,
  rows: count,
  /** Steps between the policy that sampled and the one updated; 0 on-policy. */
  staleness: count,
  /** Off-policy: mean over the tokens of the k3 estimate of the KL from the policy that sampled to the one updated, before the update. */
  behaviourKl: finite.optional(),
  durationMs: finite,
  stats: z.record(z.string(), finite),
})
export type Update = z.infer<typeof updateSchema>

export const updates: Topic<Update> = defineTopic<Update>({
  name: 'updates',
  version: 1,
  schema: updateSchema,
  key: (u) => u.stage,
})
