import { z } from 'zod'
import { count, finite, groupIdentity } from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

/** What one version said: a score, or how there is none. */
const sideSchema = z.looseObject({
  version: z.string().min(1),
  codeHash: z.string().min(1),
  status: z.enum(['ok', 'unparsable', 'timeout', 'error']),
  score: finite.optional(),
  latencyMs: finite,
  /** Of an error. */
  code: z.string().optional(),
  message: z.string().optional(),
})

/** One rollout judged by the active version of a verifier and by a staged one, which has no effect. */
export const shadowSchema = z.looseObject({
  /** The rollout's id. */
  id: z.string().min(1),
  ...groupIdentity,
  index: count,
  verifier: z.string().min(1),
  /** Id of the change that staged the candidate. */
  change: z.string().min(1),
  rewardOffset: count,
  active: sideSchema,
  candidate: sideSchema,
})
export type Shadow = z.infer<typeof shadowSchema>

export function shadows(domain: string): Topic<Shadow> {
  return defineTopic<Shadow>({
    name: `shadows.${domain}`,
    version: 1,
    schema: shadowSchema,
    key: (s) => s.groupId,
  })
}
