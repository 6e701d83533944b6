import { z } from 'zod'
import { absent, count, groupIdentity, int32s, message, sampling } from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

/** One admission: a visit of a prompt that the coordinator let in, to be answered by a group of rollouts. */
export const promptSchema = z.looseObject({
  ...groupIdentity,
  promptTokens: int32s,
  promptText: z.string(),
  messages: z.array(message).optional(),
  groundTruth: z.unknown(),
  verifier: z.string().min(1),
  sampling,
  /** Seed of the run; with stage, admission, sample and position it fixes every draw. */
  seed: count,
  traceId: z.string().optional(),
  absent,
})
export type Prompt = z.infer<typeof promptSchema>

export function prompts(domain: string): Topic<Prompt> {
  return defineTopic<Prompt>({
    name: `prompts.${domain}`,
    version: 1,
    schema: promptSchema,
    key: (p) => p.groupId,
  })
}
