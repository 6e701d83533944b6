import { z } from 'zod'
import { count, finite, groupIdentity, timings } from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

/** What one verifier version said of one rollout. `error` and `timeout` never carry a score. */
export const componentSchema = z.looseObject({
  verifier: z.string().min(1),
  version: z.string().min(1),
  /** Hash of the verifier's code and options. */
  codeHash: z.string().min(1),
  status: z.enum(['ok', 'unparsable', 'timeout', 'error']),
  score: finite.optional(),
  weight: finite,
  latencyMs: finite,
  detail: z.unknown().optional(),
})
export type RewardComponent = z.infer<typeof componentSchema>

/** The terminal record of one member of a group: its reward, or that there will never be one, and why. */
export const rewardSchema = z
  .looseObject({
    /** The rollout's id. */
    id: z.string().min(1),
    ...groupIdentity,
    index: count,
    kind: z.enum(['reward', 'member-lost']),
    score: finite.optional(),
    /** The verifier's own verdict, whose score is the reward's; behind it those that it was made of, each with its weight. */
    rewards: z.array(componentSchema),
    /** Why a lost member is lost: an error code. */
    reason: z.string().optional(),
    attempts: z.int().min(1),
    rolloutOffset: count,
    /** sha256 over the rollout's prompt and response tokens and log-probabilities. */
    rolloutHash: z.string(),
    responseLength: count,
    truncated: z.boolean(),
    timings: timings.optional(),
    traceId: z.string().optional(),
  })
  .refine((r) => (r.kind === 'reward') === (r.score !== undefined), {
    message: 'expected a score on a reward and none on a lost member',
    path: ['score'],
  })
export type Reward = z.infer<typeof rewardSchema>

export function rewards(domain: string): Topic<Reward> {
  return defineTopic<Reward>({
    name: `rewards.${domain}`,
    version: 1,
    schema: rewardSchema,
    key: (r) => r.groupId,
  })
}
