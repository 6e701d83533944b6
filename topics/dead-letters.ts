import { z } from 'zod'
import { bytes, count } from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

/** What could not be processed, as it was, with the reason. */
export const deadLetterSchema = z.looseObject({
  id: z.string().min(1),
  operator: z.string().min(1),
  sourceTopic: z.string().min(1),
  sourceOffset: count,
  code: z.string().min(1),
  message: z.string(),
  stack: z.string().optional(),
  attempts: z.int().min(1),
  /** The raw stored value. */
  raw: bytes,
})
export type DeadLetter = z.infer<typeof deadLetterSchema>

export function deadLetters(topic: string): Topic<DeadLetter> {
  return defineTopic<DeadLetter>({
    name: `${topic}.dlq`,
    version: 1,
    schema: deadLetterSchema,
    key: (d) => d.id,
  })
}
