import type { Judge } from '../../src/verifiers/pool/index.ts'
import type { Verdict } from '../../streams/ports.ts'

/** What one request does to its process. */
export type Fault = 'none' | 'sleep' | 'spin' | 'crash' | 'memory'

/** Judges like a remote model does, in 50 ms of waiting; or does not. */
export function faultyJudge(): Judge {
  return {
    judge(request): Promise<Verdict> | Verdict {
      switch (request as Fault) {
        case 'none':
          return new Promise((resolve) => setTimeout(() => resolve({ outcome: 'score', score: 1 }), 50))
        case 'sleep':
          return new Promise(() => setInterval(() => undefined, 1_000))
        case 'crash':
          process.kill(process.pid, 'SIGKILL')
          return new Promise(() => undefined)
        case 'memory': {
          const kept: Uint8Array[] = []
          while (true) kept.push(new Uint8Array(50_000_000).fill(1))
        }
        case 'spin':
          while (true);
      }
    },
  }
}
