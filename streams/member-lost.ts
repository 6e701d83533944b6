import type { Reward } from '../topics/index.ts'
import { type Identity, identityOf } from './identity.ts'

type Known = Partial<
  Pick<Reward, 'rewards' | 'rolloutOffset' | 'rolloutHash' | 'responseLength' | 'truncated'>
>

/** The terminal record of a member that will never have a reward, so that counting a group always ends. */
export function memberLost(
  of: Identity,
  index: number,
  reason: string,
  attempts: number,
  known: Known = {},
): Reward {
  return {
    id: `${of.groupId}:${index}`,
    ...identityOf(of),
    index,
    kind: 'member-lost',
    rewards: [],
    reason,
    attempts,
    rolloutOffset: 0,
    rolloutHash: '',
    responseLength: 0,
    truncated: false,
    ...known,
  }
}
