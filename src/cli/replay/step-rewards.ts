import type { Envelope, TopicLog } from '../../../streams/ports.ts'
import { type Reward, type Rollout, rewards } from '../../../topics/index.ts'
import type { Range } from './range.ts'
import { type StepOf, type StepOrder, wholeFrom } from './step-order.ts'

const page = { records: 1024, bytes: 4 * 1024 * 1024 }

/** Reads the terminal records of a domain step by step; holds those of one step. */
export class StepRewards {
  readonly #log: TopicLog
  readonly #topic
  readonly #order: StepOrder
  #next: number | undefined
  #read: readonly Reward[] = []
  #at = 0

  constructor(log: TopicLog, domain: string, order: StepOrder) {
    this.#log = log
    this.#topic = rewards(domain)
    this.#order = order
  }

  /**
   * Those of a step. Steps must be asked for in the order of the run; what lies between is passed over.
   *
   * @throws `LOG_OFFSET_GONE` where retention has, or may have, removed one of the first step asked for
   */
  async of(step: StepOf): Promise<Reward[]> {
    const place = this.#order(step)
    let next = this.#next ?? (await this.#begin(step, place))
    const found: Reward[] = []
    for (;;) {
      if (this.#at === this.#read.length) {
        const fetched = await this.#log.fetch(this.#topic, next, page)
        this.#next = next = fetched.next
        if (fetched.records.length === 0) return found
        this.#read = fetched.records.map((r) => r.value)
        this.#at = 0
      }
      const reward = this.#read[this.#at]!
      const its = this.#order(reward)
      if (its > place) return found
      if (its === place) found.push(reward)
      this.#at += 1
    }
  }

  #begin(step: StepOf, place: number): Promise<number> {
    return wholeFrom(this.#log, this.#topic, this.#order, place, `step ${step.stage}/${step.step}`)
  }
}

export interface JudgedRollout {
  readonly rollout: Envelope<Rollout>
  /** Its terminal record, if it has one yet. */
  readonly reward: Reward | undefined
}

/** The rollouts of a range in the order of the log, each with its terminal record. `onStep` gets all of those of a step before its rollouts come. */
export async function* judgedRollouts(
  log: TopicLog,
  { domain, topic, from, to, order }: Range,
  signal: AbortSignal,
  onStep: (terminal: readonly Reward[]) => void = () => undefined,
): AsyncGenerator<JudgedRollout> {
  const terminal = new StepRewards(log, domain, order)
  const byId = new Map<string, Reward>()
  let place = -1
  for (let at = from; at < to; ) {
    signal.throwIfAborted()
    const { records, next } = await log.fetch(topic, at, {
      records: Math.min(256, to - at),
      bytes: page.bytes,
    })
    if (records.length === 0) return
    for (const rollout of records) {
      if (rollout.offset >= to) return
      const its = order(rollout.value)
      if (its !== place) {
        place = its
        const step = await terminal.of(rollout.value)
        byId.clear()
        for (const reward of step) byId.set(reward.id, reward)
        onStep(step)
      }
      yield { rollout, reward: byId.get(rollout.value.id) }
    }
    at = next
  }
}
