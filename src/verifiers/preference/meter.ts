import { setTimeout as sleep } from 'node:timers/promises'
import type { Clock } from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/index.ts'
import { TokenBucket } from './token-bucket.ts'

export interface MeterOptions {
  readonly requestsPerMinute?: number
  readonly tokensPerMinute?: number
  /** In all, over the life of the verifier. */
  readonly budget?: { readonly requests?: number; readonly tokens?: number }
  readonly clock?: Clock
}

/** What an endpoint may be asked for: rates are waited for, a budget that is spent is an error. */
export class Meter {
  readonly #requests: TokenBucket | undefined
  readonly #tokens: TokenBucket | undefined
  readonly #budget: { readonly requests: number; readonly tokens: number }
  readonly #clock: Clock
  #spent = { requests: 0, tokens: 0 }

  constructor({ requestsPerMinute, tokensPerMinute, budget, clock = Date }: MeterOptions) {
    this.#requests = requestsPerMinute === undefined ? undefined : new TokenBucket(requestsPerMinute)
    this.#tokens = tokensPerMinute === undefined ? undefined : new TokenBucket(tokensPerMinute)
    this.#budget = { requests: Infinity, tokens: Infinity, ...budget }
    this.#clock = clock
  }

  get spent(): { readonly requests: number; readonly tokens: number } {
    return { ...this.#spent }
  }

  /**
   * Reserves a request of so many tokens and waits until the rates allow it. What is reserved counts as spent until {@link settle} says
   * better. @throws `VERIFIER_BUDGET` where it would exceed the budget
   */
  async reserve(tokens: number, signal: AbortSignal): Promise<void> {
    const after = { requests: this.#spent.requests + 1, tokens: this.#spent.tokens + tokens }
    for (const kind of ['requests', 'tokens'] as const) {
      if (after[kind] > this.#budget[kind]) {
        throw new CascadeError(
          'VERIFIER_BUDGET',
          `budget: expected at most ${this.#budget[kind]} ${kind}, got one more after ${this.#spent[kind]}`,
        )
      }
    }
    this.#spent = after
    const now = this.#clock.now()
    const wait = Math.max(this.#requests?.take(1, now) ?? 0, this.#tokens?.take(tokens, now) ?? 0)
    if (wait === 0) return
    await sleep(wait, undefined, { signal }).catch(() => {
      this.settle(tokens, 0)
      signal.throwIfAborted()
    })
  }

  /** The tokens that a reserved request really took. */
  settle(reserved: number, used: number): void {
    this.#spent = { ...this.#spent, tokens: this.#spent.tokens + used - reserved }
    this.#tokens?.giveBack(reserved - used, this.#clock.now())
  }
}
