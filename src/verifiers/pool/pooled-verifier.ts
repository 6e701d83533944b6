import type { Verdict, Verifier } from '../../../streams/ports.ts'
import type { Rollout } from '../../../topics/index.ts'
import type { Limits } from './limits.ts'
import { Pool } from './pool.ts'
import type { Target } from './protocol.ts'
import type { Judged } from './task.ts'

export interface PooledVerifierOptions {
  readonly name: string
  readonly version: string
  readonly codeHash: string
  readonly target: Target
  /** What the target's judge is asked about a rollout: no more than it needs, since it is copied to another process. */
  request(rollout: Rollout): unknown
  /** Processes. */
  readonly size: number
  readonly limits: Partial<Limits>
  /** Its processes end when it has had nothing to do for so many milliseconds, unless it is held. @default 5,000 */
  readonly idleMs?: number
}

/** A verifier that judges in processes of its own. They start when it is first asked, or held, and end when nobody needs it. */
export class PooledVerifier implements Verifier, AsyncDisposable {
  readonly name: string
  readonly version: string
  readonly codeHash: string
  readonly limited = true
  readonly #options: PooledVerifierOptions
  #pool: Pool | undefined
  #users = 0
  #held = false
  #idle: NodeJS.Timeout | undefined
  readonly #closing = new Set<Promise<void>>()

  constructor(options: PooledVerifierOptions) {
    this.name = options.name
    this.version = options.version
    this.codeHash = options.codeHash
    this.#options = options
  }

  /** Keeps its processes at hand, or no longer. */
  hold(held: boolean): void {
    this.#held = held
    if (held) this.#open()
    else this.#rest()
  }

  /** Process ids of the children that live. */
  get pids(): number[] {
    return this.#pool?.pids ?? []
  }

  async verify(rollout: Rollout, signal: AbortSignal): Promise<Verdict> {
    return (await this.judged(rollout, signal)).verdict
  }

  /** The same with the time that it took. */
  async judged(rollout: Rollout, signal: AbortSignal): Promise<Judged> {
    this.#users += 1
    try {
      return await this.#open().submit(this.#options.request(rollout), signal)
    } finally {
      this.#users -= 1
      this.#rest()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#held = false
    this.#close()
    await Promise.all(this.#closing)
  }

  #open(): Pool {
    clearTimeout(this.#idle)
    const { target, size, limits } = this.#options
    this.#pool ??= new Pool(target, { size, limits })
    return this.#pool
  }

  #rest(): void {
    clearTimeout(this.#idle)
    if (this.#held || this.#users > 0 || !this.#pool) return
    this.#idle = setTimeout(() => this.#close(), this.#options.idleMs ?? 5_000).unref()
  }

  #close(): void {
    clearTimeout(this.#idle)
    const pool = this.#pool
    this.#pool = undefined
    if (!pool) return
    const closing = pool[Symbol.asyncDispose]().finally(() => this.#closing.delete(closing))
    this.#closing.add(closing)
  }
}
