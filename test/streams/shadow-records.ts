import { identityOf } from '../../streams/identity.ts'
import type { Shadow } from '../../topics/index.ts'
import { reward } from './helpers.ts'

/** A shadow record of one rollout, for tests. */
export function shadow(over: Partial<Shadow>, active: number, candidate: number | 'error'): Shadow {
  const identity = reward()
  const version = { version: '1', codeHash: 'h1', latencyMs: 1 }
  return {
    id: identity.id,
    ...identityOf(identity),
    index: 0,
    verifier: 'sum',
    change: 'c',
    rewardOffset: 0,
    active: { ...version, status: 'ok', score: active },
    candidate: {
      ...version,
      version: '2',
      ...(candidate === 'error'
        ? { status: 'error', code: 'VERIFIER_FAILED' }
        : { status: 'ok', score: candidate }),
    },
    ...over,
  }
}
