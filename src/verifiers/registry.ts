import type { Verifier } from '../../streams/ports.ts'
import type { Verifiers } from '../../streams/verify.ts'
import { CascadeError } from '../../topics/index.ts'
import { verifiers as all } from './index.ts'

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
