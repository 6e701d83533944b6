import type { Verdict, Verifier } from '../../../streams/ports.ts'
import type { Rollout } from '../../../topics/index.ts'
import type { Judge } from '../pool/index.ts'
import { type HandOut, places } from '../sandbox/hand-out.ts'

/** A verifier that waits for what is outside this process, with at most so many judgements at once: its own time begins with its turn. */
export function withPlaces(verifier: Verifier, count: number): Verifier {
  const turns = places(count)
  const { name, version, codeHash } = verifier
  return Object.freeze({
    name,
    version,
    codeHash,
    limited: true,
    verify: (rollout: Rollout, signal: AbortSignal) =>
      turns.hold(signal, () => verifier.verify(rollout, signal)),
  })
}

export interface HostedOptions {
  readonly name: string
  readonly version: string
  readonly codeHash: string
  /** Opened when it is first asked. */
  open(): Promise<Judge>
  request(rollout: Rollout): unknown
  readonly concurrency: number
  /** Milliseconds of one judgement, from its turn on; none where the judge bounds itself. */
  readonly wallMs: number | undefined
}

/** A judge that is called here and brings its own workers. */
export class HostedVerifier implements Verifier, AsyncDisposable {
  readonly name: string
  readonly version: string
  readonly codeHash: string
  readonly limited = true
  readonly #options: HostedOptions
  /** Judgements at the same time. */
  readonly #turns: HandOut<number>
  #judge: Promise<Judge> | undefined

  constructor(options: HostedOptions) {
    this.name = options.name
    this.version = options.version
    this.codeHash = options.codeHash
    this.#options = options
    this.#turns = places(options.concurrency)
  }

  verify(rollout: Rollout, signal: AbortSignal): Promise<Verdict> {
    return this.#turns.hold(signal, () => this.#verdict(rollout, signal))
  }

  async #verdict(rollout: Rollout, signal: AbortSignal): Promise<Verdict> {
    const { open, request, wallMs } = this.#options
    this.#judge ??= open().catch((error: unknown) => {
      // The next one tries again.
      this.#judge = undefined
      throw error
    })
    const judge = await this.#judge
    signal.throwIfAborted()
    if (wallMs === undefined) return judge.judge(request(rollout), signal)
    const timeout = AbortSignal.timeout(wallMs)
    const both = AbortSignal.any([signal, timeout])
    const late = new Promise<'late'>((resolve) => {
      both.addEventListener('abort', () => resolve('late'), { once: true })
    })
    const judged = Promise.resolve(judge.judge(request(rollout), both))
    // Reported below, where it comes in time.
    judged.catch(() => undefined)
    const first = await Promise.race([judged, late]).catch((error: unknown) => {
      if (!both.aborted) throw error
      return 'late' as const
    })
    if (first !== 'late') return first
    signal.throwIfAborted()
    const message = `verifier ${this.name}: took more than ${wallMs} ms`
    return { outcome: 'failed', code: 'VERIFIER_TIMEOUT', message, retryable: false }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const judge = await this.#judge?.catch(() => undefined)
    this.#judge = undefined
    await judge?.[Symbol.asyncDispose]?.()
  }
}
