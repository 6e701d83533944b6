import { type Limits, PooledVerifier, type Target } from '../pool/index.ts'
import type { Stored } from './store.ts'
import { openUserVerifier, type UserRequest } from './user-verifier.ts'

export interface StoredVerifierOptions {
  codeHash: string
  stored: Stored
  /** Processes. */
  size: number
  limits: Partial<Limits>
  /** As of {@link PooledVerifier}. */
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

/** A version of the run's store. */
export function storedVerifier({ codeHash, stored, ...pool }: StoredVerifierOptions): PooledVerifier {
  const { name, version } = stored
  return new PooledVerifier({
    ...pool,
    name,
    version,
    codeHash,
    target: targetOf(stored),
    request: (rollout): UserRequest => ({ kind: 'rollout', rollout }),
  })
}
