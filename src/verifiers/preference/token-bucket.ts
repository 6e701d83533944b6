/**
 * So much a minute, with a burst of a full minute's worth. Takers may go into debt and are told how long it lasts, so that they are served
 * in the order in which they came. A state machine: it is told the time, in milliseconds.
 */
export class TokenBucket {
  readonly #perMinute: number
  #level: number
  #at: number | undefined

  constructor(perMinute: number) {
    this.#perMinute = perMinute
    this.#level = perMinute
  }

  /** Takes an amount and says how long its taker must wait. An amount beyond a full minute's waits as long as its debt lasts. */
  take(amount: number, now: number): number {
    this.#fill(now)
    this.#level -= amount
    return this.#level >= 0 ? 0 : (-this.#level / this.#perMinute) * 60_000
  }

  /** Gives back what was taken and not used. */
  giveBack(amount: number, now: number): void {
    this.#fill(now)
    this.#level = Math.min(this.#perMinute, this.#level + amount)
  }

  /** A clock that goes backwards adds nothing. */
  #fill(now: number): void {
    const since = Math.max(0, now - (this.#at ?? now))
    this.#at = Math.max(now, this.#at ?? now)
    this.#level = Math.min(this.#perMinute, this.#level + (since / 60_000) * this.#perMinute)
  }
}
