import type { Verdict, Verifier } from '../../../streams/ports.ts'
import type { Rollout } from '../../../topics/index.ts'
import { type Judged, type Limits, Pool, type Target } from '../pool/index.ts'
import type { Stored } from './store.ts'
import { openUserVerifier, type UserRequest } from './user-verifier.ts'

export interface StoredVerifierOptions {
  codeHash: string
  stored: Stored
  /** Processes. */
  size: number
  limits: Partial<Limits>
  /** Its processes end when it has had nothing to do for so many milliseconds, unless it is held. @default 5,000 */
  idleMs?: number
}

/** Where a pool finds a stored module's judge. */
export function targetOf({ file, options }: Pick<Stored, 'file' | 'options'>): Target {
  // Type stripping leaves the extension as it is, the build does not.
  const module = import.meta.url.endsWith('.ts') ? './user-verifier.ts' : './user-verifier.js'
  return {
    module: new URL(module, import.meta.url).href,
    name: openUserVerifier.name,
    options: { file, options },
  }
}

/** A version of the run's store. Its processes start when it is first asked, or held, and end when nobody needs it. */
export class StoredVerifier implements Verifier, AsyncDisposable {
  readonly name: string
  readonly version: string
  readonly codeHash: string
  readonly limited = true
  readonly #options: StoredVerifierOptions
  #pool: Pool | undefined
  #users = 0
  #held = false
  #idle: NodeJS.Timeout | undefined
  readonly #closing = new Set<Promise<void>>()

  constructor(options: StoredVerifierOptions) {
    this.name = options.stored.name
    this.version = options.stored.version
    this.codeHash = options.codeHash
    this.#options = options
  }

  /** Keeps its processes at hand, or no longer. */
  hold(held: boolean): void {
    this.#held = held
    if (held) this.#open()
    else this.#rest()
  }

  async verify(rollout: Rollout, signal: AbortSignal): Promise<Verdict> {
    return (await this.judged(rollout, signal)).verdict
  }

  /** The same with the time that it took. */
  async judged(rollout: Rollout, signal: AbortSignal): Promise<Judged> {
    this.#users += 1
    try {
      const request: UserRequest = { kind: 'rollout', rollout }
      return await this.#open().submit(request, signal)
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
    const { stored, size, limits } = this.#options
    this.#pool ??= new Pool(targetOf(stored), { size, limits })
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
