import type { Verifier } from '../../streams/ports.ts'
import type { Verifiers } from '../../streams/verify.ts'
import { CascadeError } from '../../topics/index.ts'
import { verifiers as all } from './index.ts'

/**
 * Tries a built-in verifier on what its verdict is known of, as is done before a run begins: a broken one must not teach.
 *
 * @throws CascadeError VERIFIER_FAILED naming the sample, what was expected and what came
 */
export function preflightBuiltIn(name: string, make = all[name]): void {
  const verifier = make!()
  const { good, bad } = verifier.samples
  if (good.length === 0 || bad.length === 0) throw refused(name, 'expected a good and a bad sample, got none')
  for (const [kind, samples] of [
    ['good', good],
    ['bad', bad],
  ] as const) {
    for (const [i, { response, truth }] of samples.entries()) {
      const verdict = verifier.judge(response, truth)
      if (verdict.outcome === 'failed') throw refused(name, `${kind} sample ${i}: ${verdict.message}`)
      if (verdict.score >= 0.5 === (kind === 'good')) continue
      const expected = kind === 'good' ? 'at least 0.5' : 'less than 0.5'
      throw refused(name, `${kind} sample ${i}: expected a score of ${expected}, got ${verdict.score}`)
    }
  }
}

function refused(name: string, why: string): CascadeError {
  return new CascadeError('VERIFIER_FAILED', `verifier ${name}: ${why}`)
}

/** The built-in verifiers, each made once. */
export function builtInVerifiers(): Verifiers {
  const made = new Map<string, Verifier>()
  const named = (name: string): Verifier => {
    const known = made.get(name)
    if (known) return known
    const make = Object.hasOwn(all, name) ? all[name] : undefined
    if (!make) {
      throw new CascadeError(
        'VERIFIER_FAILED',
        `verifier: expected one of ${Object.keys(all).join(', ')}, got ${name}`,
      )
    }
    const verifier = make()
    made.set(name, verifier)
    return verifier
  }
  return {
    current: named,
    pinned(name, version, codeHash) {
      const verifier = named(name)
      return verifier.version === version && verifier.codeHash === codeHash ? verifier : undefined
    },
  }
}
