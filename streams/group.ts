import type { OperatorFunction } from 'rxjs'
import { advantages, CascadeError, type GroupOutcome, type Reward } from '../topics/index.ts'
import { type AdvantageOptions, groupAdvantages, type Judged } from './advantages.ts'
import { Carried, type Delivery, rootOf } from './delivery.ts'
import { tooMany } from './group-delivery.ts'
import { type Identity, identityOf, perDomain } from './identity.ts'
import { operate } from './operate.ts'
import type { Append, Envelope, Position } from './ports.ts'

export interface GroupRewardsOptions {
  /** Groups that may be open at once; admission keeps no more in flight. */
  maxOpen: number
  /** How the advantages of a stage are computed. */
  advantages: (stage: string) => AdvantageOptions
}

/** An open group: ids and numbers only, never tokens. */
interface Open {
  readonly identity: Identity
  readonly members: Map<number, Judged>
  readonly positions: Position[]
  verifier: string
  verifierVersion: string
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
    const groups = new Map<string, Open>()
    return {
      next(delivery) {
        const reward = delivery.value.value
        let open = groups.get(reward.groupId)
        if (!open) {
          if (groups.size >= options.maxOpen) throw tooMany(options.maxOpen)
          open = {
            identity: identityOf(reward),
            members: new Map(),
            positions: [],
            verifier: '',
            verifierVersion: '',
          }
          groups.set(reward.groupId, open)
        }
        add(open, reward)
        for (const p of delivery.positions) open.positions.push(p)
        if (open.members.size < open.identity.groupSize) {
          delivery.release()
          return
        }
        groups.delete(reward.groupId)
        const value = close(open, options.advantages(reward.stage))
        const append = [{ topic: topicOf(reward.domain), value } as Append]
        out.next(new Carried<readonly Append[]>(append, open.positions, delivery.bytes, rootOf(delivery)))
      },
    }
  })
}

function add(open: Open, reward: Reward): void {
  const { groupId, groupSize } = open.identity
  const complain = (problem: string) =>
    new CascadeError('STREAM_PROTOCOL', `rewards.${reward.domain}: group ${groupId}: ${problem}`, {
      context: { rolloutId: reward.id },
    })
  if (reward.groupSize !== groupSize) {
    throw complain(
      `expected a group of ${groupSize}, got one of ${reward.groupSize} in member ${reward.index}`,
    )
  }
  if (reward.index >= groupSize) {
    throw complain(`expected a member index below ${groupSize}, got ${reward.index}`)
  }
  if (open.members.has(reward.index)) throw complain(`expected member ${reward.index} once, got it twice`)
  const component = reward.kind === 'reward' ? reward.rewards[0] : undefined
  if (component && open.verifier === '') {
    open.verifier = component.verifier
    open.verifierVersion = component.version
  } else if (
    component &&
    (component.verifier !== open.verifier || component.version !== open.verifierVersion)
  ) {
    throw complain(
      `expected verifier ${open.verifier} ${open.verifierVersion} throughout, got ${component.verifier} ${component.version} for member ${reward.index}`,
    )
  }
  open.members.set(reward.index, {
    rolloutId: reward.id,
    index: reward.index,
    rolloutOffset: reward.rolloutOffset,
    rolloutHash: reward.rolloutHash,
    ...(reward.kind === 'reward' ? { reward: reward.score } : {}),
    responseLength: reward.responseLength,
    truncated: reward.truncated,
  })
}

function close(open: Open, options: AdvantageOptions): GroupOutcome {
  const outcome = groupAdvantages([...open.members.values()], options)
  const scored = outcome.outcome !== 'lost'
  return {
    ...open.identity,
    ...outcome,
    verifier: scored ? open.verifier : '',
    verifierVersion: scored ? open.verifierVersion : '',
  }
}
