import { z } from 'zod'
import { count, finite, groupIdentity } from './common.ts'
import { defineTopic, type Topic } from './topic.ts'

/** The four fates of a rollout. `skipped`: in its group, without weight in the loss. */
export const fate = z.enum(['trained', 'skipped', 'dropped', 'error'])
export type Fate = z.infer<typeof fate>

export const memberSchema = z.looseObject({
  rolloutId: z.string().min(1),
  index: count,
  rolloutOffset: count,
  rolloutHash: z.string(),
  reward: finite.optional(),
  advantage: finite.optional(),
  responseLength: count,
  truncated: z.boolean(),
  fate,
})
export type GroupMember = z.infer<typeof memberSchema>

/** The one outcome of a group, also the ledger entry of its prompt for this epoch. */
export const groupOutcomeSchema = z.looseObject({
  ...groupIdentity,
  outcome: z.enum(['kept', 'filtered', 'lost']),
  reason: z.string().optional(),
  /** The verifier version that scored every member; empty for a lost group. */
  verifier: z.string(),
  verifierVersion: z.string(),
  baseline: z.looseObject({ mean: finite, deviation: finite }),
  /** In order of sample index. */
  members: z.array(memberSchema),
  traceId: z.string().optional(),
})
export type GroupOutcome = z.infer<typeof groupOutcomeSchema>

export function advantages(domain: string): Topic<GroupOutcome> {
  return defineTopic<GroupOutcome>({
    name: `advantages.${domain}`,
    version: 1,
    schema: groupOutcomeSchema,
    key: (g) => g.groupId,
  })
}
