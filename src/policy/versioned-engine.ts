import { CascadeError } from '../../topics/index.ts'
import type { Engine } from '../model/engine/index.ts'

/** An engine and the policy version that its weights are. Policy, update sink and evaluator of a process share one. */
export interface VersionedEngine {
  readonly engine: Engine
  readonly version: number
  /** The weights now are of this version. Those who wait for it go on. */
  set(version: number): void
  /** Resolves once `version` is loaded. @throws `POLICY_VERSION` where it is already past, the signal's reason */
  reach(version: number, signal: AbortSignal): Promise<void>
}

export function versionedEngine(engine: Engine, version = 0): VersionedEngine {
  let current = version
  const waiting = new Set<() => void>()
  return {
    engine,
    get version() {
      return current
    },
    set(next) {
      current = next
      for (const wake of waiting) wake()
    },
    reach(wanted, signal) {
      return new Promise((resolve, reject) => {
        const settle = (then: () => void) => {
          waiting.delete(look)
          signal.removeEventListener('abort', aborted)
          then()
        }
        const aborted = () => settle(() => reject(signal.reason))
        const look = () => {
          if (current === wanted) settle(resolve)
          else if (current > wanted) settle(() => reject(past(wanted, current)))
        }
        if (signal.aborted) {
          reject(signal.reason)
          return
        }
        signal.addEventListener('abort', aborted, { once: true })
        waiting.add(look)
        look()
      })
    },
  }
}

function past(wanted: number, current: number): CascadeError {
  return new CascadeError(
    'POLICY_VERSION',
    `expected policy version ${wanted}, got version ${current}: the one wanted is past`,
  )
}
