import { z } from 'zod'
import { count } from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

/**
 * A checkpoint that is complete on disk. This record is the commit of every gradient batch up to
 * `gradientBatchOffset` (exclusive); only after it is a version announced.
 */
export const checkpointSchema = z.looseObject({
  /** `<version>-<content hash>` */
  id: z.string().min(1),
  stage: z.string().min(1),
  step: count,
  version: count,
  reason: z.enum(['initial', 'interval', 'stage-end']),
  /** Folder, relative to the run folder. */
  path: z.string().min(1),
  writerEpoch: count,
  contentHash: z.string().min(1),
  weightsHash: z.string().min(1),
  gradientBatchOffset: count,
  files: z.array(z.object({ name: z.string(), bytes: count, sha256: z.string() })),
})
export type Checkpoint = z.infer<typeof checkpointSchema>

export const checkpoints: Topic<Checkpoint> = defineTopic<Checkpoint>({
  name: 'checkpoints',
  version: 1,
  schema: checkpointSchema,
  key: (c) => c.id,
})
