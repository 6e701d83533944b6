import { Fence } from '../../../streams/fence.ts'
import { follow } from '../../../streams/follow.ts'
import type { Envelope, TopicLog, Verifier } from '../../../streams/ports.ts'
import type { Candidate, Candidates } from '../../../streams/shadow.ts'
import { VerifierVersions } from '../../../streams/verifier-versions.ts'
import type { Verifiers } from '../../../streams/verify.ts'
import { type Control, control } from '../../../topics/index.ts'
import type { Limits, PooledVerifier } from '../pool/index.ts'
import { VerifierStore } from './store.ts'
import { storedVerifier } from './stored-verifier.ts'

export interface RunVerifiersOptions {
  log: TopicLog
  dir: string
  /** Those that a run begins with; closed with these. */
  initial: Verifiers & Partial<AsyncDisposable>
  /** Processes of each stored version. */
  size: number
  limits: Partial<Limits>
}

/**
 * The verifiers of a run as its control records leave them: what is promoted holds for the next group, what a group is pinned to
 * stays. Versions are loaded from the run's store when a record names them, before they can be asked for.
 */
export class RunVerifiers implements Verifiers, Candidates, AsyncDisposable {
  readonly #options: RunVerifiersOptions
  readonly #store: VerifierStore
  readonly #versions = new VerifierVersions()
  readonly #loaded = new Map<string, PooledVerifier>()
  /** Timestamps of changes that staged a version, by their id. */
  readonly #since = new Map<string, number>()
  readonly #fence = new Fence()
  readonly #callbacks = new Set<() => void>()
  #next = 0

  private constructor(options: RunVerifiersOptions) {
    this.#options = options
    this.#store = new VerifierStore(options.dir)
  }

  /** With all that the log says so far. @throws CascadeError VERIFIER_FAILED where the store lacks a version */
  static async open(options: RunVerifiersOptions, signal: AbortSignal): Promise<RunVerifiers> {
    const verifiers = new RunVerifiers(options)
    const { log } = options
    verifiers.#next = await follow(log, control, { from: 0, until: 'end', signal }, (record) =>
      verifiers.#fold(record),
    )
    return verifiers
  }

  /** Takes changes in as they are recorded, until the signal aborts. @throws its reason */
  async follow(signal: AbortSignal): Promise<void> {
    const { log } = this.#options
    await follow(log, control, { from: this.#next, signal }, (record) => this.#fold(record))
  }

  /** Those that the run began with, whatever was promoted since. */
  get initial(): Verifiers {
    return this.#options.initial
  }

  current(name: string): Verifier {
    const active = this.#versions.of(name).active.at(-1)
    return active ? this.#loaded.get(active.codeHash)! : this.initial.current(name)
  }

  pinned(name: string, version: string, codeHash: string): Verifier | undefined {
    const stored = this.#loaded.get(codeHash)
    if (stored) return stored.name === name && stored.version === version ? stored : undefined
    return this.initial.pinned(name, version, codeHash)
  }

  /** What judges beside the active version. */
  candidate(name: string): Candidate | undefined {
    const { staged, rule } = this.#versions.of(name)
    const verifier = staged && this.#loaded.get(staged.codeHash)
    return verifier
      ? { verifier, change: staged.id, since: this.#since.get(staged.id) ?? 0, rule }
      : undefined
  }

  staged(): Candidate[] {
    return [...this.#versions.names].map((name) => this.candidate(name)).filter((c) => c !== undefined)
  }

  onChange(callback: () => void, signal: AbortSignal): void {
    this.#callbacks.add(callback)
    signal.addEventListener('abort', () => this.#callbacks.delete(callback), { once: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const all = [this.#options.initial, ...this.#loaded.values()]
    await Promise.all(all.map(async (v) => v[Symbol.asyncDispose]?.()))
  }

  async #fold({ value: change, timestamp }: Envelope<Control>): Promise<void> {
    if (!this.#fence.admits(change) || change.type !== 'verifier' || change.refused !== undefined) return
    if (change.action === 'stage') {
      await this.#load(change.codeHash!)
      this.#since.set(change.id, timestamp)
    }
    this.#versions.apply(change)
    const held = new Set<string | undefined>()
    for (const name of this.#versions.names) {
      const { active, staged } = this.#versions.of(name)
      held.add(active.at(-1)?.codeHash).add(staged?.codeHash)
    }
    for (const [hash, verifier] of this.#loaded) verifier.hold(held.has(hash))
    for (const callback of this.#callbacks) callback()
  }

  async #load(codeHash: string): Promise<void> {
    if (this.#loaded.has(codeHash)) return
    const stored = await this.#store.get(codeHash)
    const { size, limits } = this.#options
    this.#loaded.set(codeHash, storedVerifier({ codeHash, stored, size, limits }))
  }
}
