import type { Clock, Verdict, VerdictComponent, Verifier } from '../../../streams/ports.ts'
import { CascadeError, isCascadeError, type Rollout } from '../../../topics/index.ts'
import { codeHash } from '../judge.ts'

export interface CompositePart {
  readonly verifier: Verifier
  /** What its score is multiplied by. 0: it only gates, or is only recorded. @default 1 */
  readonly weight?: number
  /** Where its score is below `atLeast`, the whole score is `otherwise`. */
  readonly gate?: { readonly atLeast: number; readonly otherwise: number }
}

export interface CompositeOptions {
  readonly name: string
  readonly version: string
  readonly parts: readonly CompositePart[]
  /** Taken off a score that no gate decided: nothing up to `free` response tokens, all of `most` from `full` on, linear between. */
  readonly length?: { readonly free: number; readonly full: number; readonly most: number }
  /** Measures the latency of each part. @default the system's */
  readonly clock?: Clock
}

/**
 * One score of several verifiers: the weighted sum, unless a gate decides (the first that is not reached), less a penalty for length. Parts
 * run side by side and all are recorded. The error of one part is the error of the whole, and stops the others: a sum without it would
 * be another reward. Unparsable: where the gate that decides is, or every part.
 */
export function composite(options: CompositeOptions): Verifier {
  checked(options)
  const { name, version, parts, length, clock = Date } = options
  return Object.freeze({
    name,
    version,
    codeHash: hashOf(options),
    // Where each part minds its own time, waiting for the turn of one is no fault of the whole.
    ...(parts.every(({ verifier }) => verifier.limited) ? { limited: true as const } : {}),
    async verify(rollout: Rollout, signal: AbortSignal): Promise<Verdict> {
      signal.throwIfAborted()
      const stop = new AbortController()
      const both = AbortSignal.any([signal, stop.signal])
      try {
        const components = await Promise.all(parts.map((part) => judged(name, part, rollout, both, clock)))
        return combined(parts, components, lengthPenalty(length, rollout.responseTokens.length))
      } catch (error) {
        if (error instanceof PartFailed) return error.verdict
        throw error
      } finally {
        stop.abort()
      }
    },
  })
}

class PartFailed extends Error {
  readonly verdict: Extract<Verdict, { outcome: 'failed' }>

  constructor(verdict: Extract<Verdict, { outcome: 'failed' }>) {
    super(verdict.message)
    this.verdict = verdict
  }
}

async function judged(
  whole: string,
  { verifier, weight = 1 }: CompositePart,
  rollout: Rollout,
  signal: AbortSignal,
  clock: Clock,
): Promise<VerdictComponent> {
  const began = clock.now()
  const of = `verifier ${whole}: part ${verifier.name}`
  const fail = (code: string, message: string, retryable: boolean) =>
    new PartFailed({ outcome: 'failed', code, message: `${of}: ${message}`, retryable })
  let verdict: Verdict
  try {
    verdict = await verifier.verify(rollout, signal)
  } catch (error) {
    const [code, retryable] = isCascadeError(error)
      ? [error.code, error.retryable]
      : (['VERIFIER_FAILED', true] as const)
    throw fail(code, `threw: ${error instanceof Error ? error.message : String(error)}`, retryable)
  }
  if (verdict.outcome === 'failed') throw fail(verdict.code, verdict.message, verdict.retryable)
  if (!Number.isFinite(verdict.score)) {
    throw fail('NUMERIC', `expected a finite score, got ${verdict.score}`, true)
  }
  return {
    verifier: verifier.name,
    version: verifier.version,
    codeHash: verifier.codeHash,
    outcome: verdict.outcome,
    score: verdict.score,
    weight,
    latencyMs: Math.max(0, clock.now() - began),
    ...(verdict.detail === undefined ? {} : { detail: verdict.detail }),
  }
}

function combined(
  parts: readonly CompositePart[],
  components: readonly VerdictComponent[],
  penalty: number,
): Verdict {
  const shut = parts.findIndex(({ gate }, i) => gate !== undefined && components[i]!.score < gate.atLeast)
  if (shut >= 0) {
    const { outcome, verifier } = components[shut]!
    return { outcome, score: parts[shut]!.gate!.otherwise, detail: { gate: verifier }, components }
  }
  const sum = components.reduce((total, { score, weight }) => total + weight * score, 0)
  return {
    outcome: components.every((c) => c.outcome === 'unparsable') ? 'unparsable' : 'score',
    score: sum - penalty,
    detail: { sum, lengthPenalty: penalty },
    components,
  }
}

function lengthPenalty(length: CompositeOptions['length'], tokens: number): number {
  if (!length) return 0
  const share = (tokens - length.free) / (length.full - length.free)
  return length.most * Math.min(1, Math.max(0, share))
}

function hashOf({ name, parts, length }: CompositeOptions): string {
  const inner = parts.map(({ verifier, weight, gate }) => [
    verifier.name,
    verifier.codeHash,
    weight ?? 1,
    gate,
  ])
  return codeHash([import.meta.url], { name, inner, length })
}

function checked({ name, parts, length }: CompositeOptions): void {
  const invalid = (message: string) => new CascadeError('CONFIG_INVALID', `verifier ${name}: ${message}`)
  if (parts.length === 0) throw invalid('parts: expected at least one, got none')
  for (const [i, { weight = 1, gate }] of parts.entries()) {
    for (const [field, value] of Object.entries({ weight, ...gate })) {
      if (!Number.isFinite(value))
        throw invalid(`parts[${i}].${field}: expected a finite number, got ${value}`)
    }
  }
  if (!length) return
  const { free, full, most } = length
  if (!(free >= 0 && full > free && Number.isFinite(full) && Number.isFinite(most))) {
    throw invalid(`length: expected 0 <= free < full and a finite most, got ${JSON.stringify(length)}`)
  }
}
