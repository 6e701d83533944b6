import { CascadeError, type GroupOutcome, type Reward } from '../topics/index.ts'
import { type AdvantageOptions, groupAdvantages, type Judged } from './advantages.ts'
import { type Identity, identityOf } from './identity.ts'

/** A group that waits for terminal records: ids and numbers only, never tokens. */
export class GroupMembers {
  readonly #identity: Identity
  readonly #members = new Map<number, Judged>()
  #verifier = ''
  #verifierVersion = ''

  constructor(of: Identity) {
    this.#identity = identityOf(of)
  }

  /** Every member has its terminal record. */
  get whole(): boolean {
    return this.#members.size === this.#identity.groupSize
  }

  /** @throws `STREAM_PROTOCOL` for a member that comes twice, does not fit, or was scored by another verifier version */
  add(reward: Reward): void {
    const { groupId, groupSize } = this.#identity
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
    if (this.#members.has(reward.index)) {
      throw complain(`expected member ${reward.index} once, got it twice`)
    }
    const component = reward.kind === 'reward' ? reward.rewards[0] : undefined
    if (component && this.#verifier === '') {
      this.#verifier = component.verifier
      this.#verifierVersion = component.version
    } else if (
      component &&
      (component.verifier !== this.#verifier || component.version !== this.#verifierVersion)
    ) {
      throw complain(
        `expected verifier ${this.#verifier} ${this.#verifierVersion} throughout, got ${component.verifier} ${component.version} for member ${reward.index}`,
      )
    }
    this.#members.set(reward.index, {
      rolloutId: reward.id,
      index: reward.index,
      rolloutOffset: reward.rolloutOffset,
      rolloutHash: reward.rolloutHash,
      ...(reward.kind === 'reward' ? { reward: reward.score } : {}),
      responseLength: reward.responseLength,
      truncated: reward.truncated,
    })
  }

  /** The outcome of the members so far; the group's own once it is {@link whole}. */
  outcome(options: AdvantageOptions): GroupOutcome {
    const outcome = groupAdvantages([...this.#members.values()], options)
    const scored = outcome.outcome !== 'lost'
    return {
      ...this.#identity,
      ...outcome,
      verifier: scored ? this.#verifier : '',
      verifierVersion: scored ? this.#verifierVersion : '',
    }
  }
}
