export interface BreakerOptions {
  /** Judgements that are looked at, the newest. */
  of: number
  /** More errors among them than this share are an outage. */
  share: number
  /** Milliseconds until one judgement is tried after an outage began; doubled after each that fails, up to `maxRetryMs`. */
  retryMs: number
  maxRetryMs: number
  /** An outage that lasts longer, in milliseconds, ends the run. */
  maxOutageMs: number
}

export const breakerDefaults: BreakerOptions = {
  of: 32,
  share: 0.5,
  retryMs: 1_000,
  maxRetryMs: 30_000,
  maxOutageMs: 600_000,
}

export type Permit = { go: true } | { waitMs: number } | { outageMs: number }

/**
 * Tells an outage of a verifier from errors of single rollouts. While it lasts nothing is judged but one rollout now and then: what waits
 * stalls the flow by its credit and is judged when the verifier is back, instead of being lost to a server that restarts.
 * A state machine without a clock: times are handed in, milliseconds of any origin.
 */
export class Breaker {
  readonly #options: BreakerOptions
  /** Errors are true. */
  #window: boolean[] = []
  #state: 'closed' | 'open' | 'probing' = 'closed'
  #since = 0
  #next = 0
  #retryMs: number

  constructor(options: BreakerOptions = breakerDefaults) {
    this.#options = options
    this.#retryMs = options.retryMs
  }

  get open(): boolean {
    return this.#state !== 'closed'
  }

  /** May a judgement begin now? Where it may, its end is told by {@link tell} or {@link forget}. */
  ask(now: number): Permit {
    const { retryMs, maxOutageMs } = this.#options
    if (this.#state === 'closed') return { go: true }
    if (this.#state === 'probing') return { waitMs: retryMs }
    if (now < this.#next) return { waitMs: this.#next - now }
    if (now - this.#since > maxOutageMs) return { outageMs: now - this.#since }
    this.#state = 'probing'
    return { go: true }
  }

  tell(error: boolean, now: number): void {
    const { of, share, retryMs, maxRetryMs } = this.#options
    if (this.#state === 'closed') {
      this.#window.push(error)
      if (this.#window.length > of) this.#window.shift()
      const errors = this.#window.filter(Boolean).length
      if (this.#window.length < of || errors <= share * of) return
      this.#state = 'open'
      this.#since = now
      this.#next = now + retryMs
    } else if (!error) {
      // Also one that began before the outage: it says that the verifier works.
      this.#state = 'closed'
      this.#window = []
      this.#retryMs = retryMs
    } else if (this.#state === 'probing') {
      this.#state = 'open'
      this.#retryMs = Math.min(maxRetryMs, this.#retryMs * 2)
      this.#next = now + this.#retryMs
    }
  }

  /** A judgement that began ended without a word, as by an abort. */
  forget(): void {
    if (this.#state === 'probing') this.#state = 'open'
  }
}
