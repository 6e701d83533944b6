import type { Verdict, Verifier } from '../../../streams/ports.ts'
import type { Verifiers } from '../../../streams/verify.ts'
import { CascadeError } from '../../../topics/index.ts'
import { sampleAsRollout } from '../as-rollout.ts'
import { verifiers as rules } from '../index.ts'
import type { Samples } from '../judge.ts'
import { knownNames, meaningOf, withParts } from './names.ts'
import { type OpenOptions, openVerifier } from './open.ts'
import { runKindOf } from './run-kinds.ts'
import type { VerifierEntries } from './schema.ts'

/** The verifiers of a run as its config has them: built-in ones, kinds, and the entries of its section `verifiers`. */
export class ConfiguredVerifiers implements Verifiers, AsyncDisposable {
  readonly #entries: VerifierEntries
  readonly #open: ReadonlyMap<string, Verifier & Partial<AsyncDisposable>>

  private constructor(
    entries: VerifierEntries,
    open: ReadonlyMap<string, Verifier & Partial<AsyncDisposable>>,
  ) {
    this.#entries = entries
    this.#open = open
  }

  /**
   * Those of some names and what they are made of; the modules of no others are loaded, and no process is started.
   *
   * @throws CascadeError VERIFIER_FAILED for a name that none has; what {@link openVerifier} throws
   */
  static async open(names: Iterable<string>, options: OpenOptions): Promise<ConfiguredVerifiers> {
    const { entries } = options
    const open = new Map<string, Verifier & Partial<AsyncDisposable>>()
    const verifiers = new ConfiguredVerifiers(entries, open)
    try {
      for (const name of names) {
        for (const each of withParts(name, entries)) {
          if (open.has(each)) continue
          if (!meaningOf(each, entries)) throw unknown(each, entries)
          open.set(each, await openVerifier(each, options, (part) => verifiers.current(part)))
        }
      }
    } catch (error) {
      await verifiers[Symbol.asyncDispose]()
      throw error
    }
    return verifiers
  }

  get names(): string[] {
    return [...this.#open.keys()]
  }

  current(name: string): Verifier {
    const found = this.#open.get(name)
    if (!found) throw unknown(name, this.#entries)
    return found
  }

  pinned(name: string, version: string, codeHash: string): Verifier | undefined {
    const verifier = this.current(name)
    return verifier.version === version && verifier.codeHash === codeHash ? verifier : undefined
  }

  /**
   * Tries what is open on what its verdict is known of, as is done before a run begins, in the processes that will judge: a broken one
   * must not teach.
   *
   * @throws CascadeError VERIFIER_FAILED naming verifier and sample, what was expected and what came
   */
  async preflight(signal: AbortSignal): Promise<void> {
    await Promise.all(
      Array.from(this.#open, async ([name, verifier]) => {
        const samples = await samplesOf(name, this.#entries)
        if (samples) await tried(name, verifier, samples, signal)
      }),
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#open.values(), async (verifier) => verifier[Symbol.asyncDispose]?.()))
  }
}

function unknown(name: string, entries: VerifierEntries): CascadeError {
  const known = knownNames(entries).join(', ')
  return new CascadeError('VERIFIER_FAILED', `verifier: expected one of ${known}, got ${name}`)
}

async function samplesOf(name: string, entries: VerifierEntries): Promise<Samples | undefined> {
  const meaning = meaningOf(name, entries)!
  if ('rule' in meaning) return rules[meaning.rule]!().samples
  const { entry } = meaning
  switch (entry.kind) {
    case 'remote':
    case 'judge':
    case 'file':
    case 'composite':
      return undefined
    default:
      return runKindOf(entry).samples?.(entry)
  }
}

/** Good ones must score at least 0.5, bad ones less; there must be one of each. */
export async function tried(
  name: string,
  verifier: Pick<Verifier, 'verify'>,
  { good, bad }: Samples,
  signal: AbortSignal,
): Promise<void> {
  const refused = (why: string) => new CascadeError('VERIFIER_FAILED', `verifier ${name}: ${why}`)
  if (good.length === 0 || bad.length === 0) throw refused('expected a good and a bad sample, got none')
  for (const [kind, samples] of [
    ['good', good],
    ['bad', bad],
  ] as const) {
    for (const [i, sample] of samples.entries()) {
      const id = `${kind} sample ${i}`
      const verdict: Verdict = await verifier.verify(sampleAsRollout(name, id, sample), signal)
      if (verdict.outcome === 'failed') throw refused(`${id}: ${verdict.message}`)
      if (verdict.score >= 0.5 === (kind === 'good')) continue
      const expected = kind === 'good' ? 'at least 0.5' : 'less than 0.5'
      throw refused(`${id}: expected a score of ${expected}, got ${verdict.score}`)
    }
  }
}
