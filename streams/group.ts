import type { OperatorFunction } from 'rxjs'
import { advantages, type Reward } from '../topics/index.ts'
import type { AdvantageOptions } from './advantages.ts'
import { Carried, type Delivery, rootOf } from './delivery.ts'
import { tooMany } from './group-delivery.ts'
import { GroupMembers } from './group-members.ts'
import { perDomain } from './identity.ts'
import { operate } from './operate.ts'
import type { Append, Envelope, Position } from './ports.ts'

export interface GroupRewardsOptions {
  /** Groups that may be open at once; admission keeps no more in flight. */
  maxOpen: number
  /** How the advantages of a stage are computed. */
  advantages: (stage: string) => AdvantageOptions
}

/**
 * Collects the G terminal records of a group (`reward` or `member-lost`), in any order, into its one outcome, which settles
 * all G positions. Members give their credit back as they enter the state; the last one lends its own to the outcome.
 * Nothing is stored: until the outcome is committed the members are unsettled, so a restart delivers them again.
 *
 * Errors: `STREAM_PROTOCOL` for a member that comes twice, does not fit its group, or was scored by another verifier version
 * than the others; `CREDIT_EXCEEDED` for one open group more than `maxOpen`.
 */
export function group(
  options: GroupRewardsOptions,
): OperatorFunction<Delivery<Envelope<Reward>>, Delivery<readonly Append[]>> {
  const topicOf = perDomain(advantages)
  return operate((out) => {
    const groups = new Map<string, { state: GroupMembers; positions: Position[] }>()
    return {
      next(delivery) {
        const reward = delivery.value.value
        let open = groups.get(reward.groupId)
        if (!open) {
          if (groups.size >= options.maxOpen) throw tooMany(options.maxOpen)
          open = { state: new GroupMembers(reward), positions: [] }
          groups.set(reward.groupId, open)
        }
        open.state.add(reward)
        for (const p of delivery.positions) open.positions.push(p)
        if (!open.state.whole) {
          delivery.release()
          return
        }
        groups.delete(reward.groupId)
        const value = open.state.outcome(options.advantages(reward.stage))
        const append = [{ topic: topicOf(reward.domain), value } as Append]
        out.next(new Carried<readonly Append[]>(append, open.positions, delivery.bytes, rootOf(delivery)))
      },
    }
  })
}
