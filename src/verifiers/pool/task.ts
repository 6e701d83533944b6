import type { Verdict } from '../../../streams/ports.ts'

/** A request on its way to a verdict. */
export class Task {
  readonly id: number
  readonly request: unknown
  readonly signal: AbortSignal | undefined
  readonly verdict: Promise<Judged>
  /** Children that ended before they had begun with it. */
  strandings = 0
  settled = false
  readonly #resolve: (judged: Judged) => void
  readonly #reject: (reason: unknown) => void
  /** One listener a task, gone when it is settled: a signal lives as long as a run, and adding to it takes as long as its list. */
  readonly #onAbort = () => {
    this.#settle(() => this.#reject(this.signal!.reason))
    this.#cancelled?.(this)
  }
  readonly #cancelled: ((task: Task) => void) | undefined

  /** `cancelled` is called when the signal ends it. */
  constructor(id: number, request: unknown, signal?: AbortSignal, cancelled?: (task: Task) => void) {
    this.id = id
    this.request = request
    this.signal = signal
    this.#cancelled = cancelled
    let settle: [(judged: Judged) => void, (reason: unknown) => void] | undefined
    this.verdict = new Promise((...both) => {
      settle = both
    })
    ;[this.#resolve, this.#reject] = settle!
    signal?.addEventListener('abort', this.#onAbort, { once: true })
    if (signal?.aborted) this.#onAbort()
  }

  answer(verdict: Verdict, ms: number): void {
    this.#settle(() => this.#resolve({ verdict, ms }))
  }

  #settle(how: () => void): void {
    if (this.settled) return
    this.settled = true
    this.signal?.removeEventListener('abort', this.#onAbort)
    how()
  }
}

export interface Judged {
  readonly verdict: Verdict
  /** Milliseconds in the judge, without the wait for it. */
  readonly ms: number
}
