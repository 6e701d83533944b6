import { z } from 'zod'
import { bytes, count, finite } from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

/** The score of one domain after one stage: one cell of the forgetting matrix. */
export const evaluationSchema = z.looseObject({
  /** `<stage>/<domain>` */
  id: z.string().min(1),
  stage: z.string().min(1),
  domain: z.string().min(1),
  version: count,
  checkpoint: z.string().min(1),
  split: z.enum(['held-out', 'validation']),
  metric: z.literal('greedy-accuracy'),
  n: z.int().min(1),
  passed: count,
  /** Between 0 and 1. */
  score: finite.min(0).max(1),
  /** 95 % Wilson score interval. */
  interval: z.tuple([finite, finite]),
  /** 1 where the held-out prompt of that index passed. */
  verdicts: bytes,
  responseLength: finite,
  truncated: count,
  durationMs: finite,
})
export type Evaluation = z.infer<typeof evaluationSchema>

export const evaluations: Topic<Evaluation> = defineTopic<Evaluation>({
  name: 'evaluations',
  version: 1,
  schema: evaluationSchema,
  key: (e) => e.id,
})
