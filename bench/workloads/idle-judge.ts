import type { Judge } from '../../src/verifiers/pool/index.ts'

/** A judge that loads nothing: what its process costs is the pool's own. */
export function idle(): Judge {
  return { judge: () => ({ outcome: 'score', score: 1 }) }
}
