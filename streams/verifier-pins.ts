import { CascadeError, type Reward } from '../topics/index.ts'

/** Which verifier version scores a group, and which of its members it has scored so far. */
export interface Pin {
  readonly version: string
  readonly codeHash: string
  readonly written: ReadonlySet<number>
}

/** Pins as committed rewards leave them: of every group that has a verdict and is not whole yet. */
export function pinsOf(rewards: Iterable<Reward>): Map<string, Pin> {
  const pins = new Map<string, { version: string; codeHash: string; written: Set<number> }>()
  for (const reward of rewards) {
    const component = reward.rewards[0]
    if (!component) continue
    let pin = pins.get(reward.groupId)
    if (!pin) {
      pin = { version: component.version, codeHash: component.codeHash, written: new Set() }
      pins.set(reward.groupId, pin)
    }
    pin.written.add(reward.index)
    if (pin.written.size === reward.groupSize) pins.delete(reward.groupId)
  }
  return pins
}

interface Entry {
  readonly version: string
  readonly codeHash: string
  readonly written: Set<number>
}

/**
 * The pins of the groups that are being scored. A group's pin goes when its last verdict is written, not when it is
 * made: a member that comes again after an interruption meets the version that the others have.
 */
export class VerifierPins {
  readonly #open = new Map<string, Entry>()
  readonly #max: number

  constructor(initial: ReadonlyMap<string, Pin>, max: number) {
    for (const [group, pin] of initial) this.#open.set(group, { ...pin, written: new Set(pin.written) })
    this.#max = max
  }

  /** The group's pin, made from `current` where it has none. @throws `CREDIT_EXCEEDED` beyond the bound. */
  pin(group: string, current: () => { version: string; codeHash: string }): Entry {
    const known = this.#open.get(group)
    if (known) return known
    if (this.#open.size >= this.#max) {
      throw new CascadeError(
        'CREDIT_EXCEEDED',
        `verify: expected at most ${this.#max} open groups, got one more`,
      )
    }
    const { version, codeHash } = current()
    const entry = { version, codeHash, written: new Set<number>() }
    this.#open.set(group, entry)
    return entry
  }

  written(group: string, index: number, size: number): void {
    const entry = this.#open.get(group)
    if (!entry) return
    entry.written.add(index)
    if (entry.written.size >= size) this.#open.delete(group)
  }
}
