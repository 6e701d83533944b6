import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import type { Judge } from '../../../src/verifiers/pool/index.ts'
import type { Verdict } from '../../../streams/ports.ts'

/** Judges for the tests of the pool. A request is a list: what to do, and a value. */
export function misbehaving(): Judge {
  return {
    judge(request, signal): Verdict | Promise<Verdict> {
      const [what, value] = request as [string, unknown]
      const score = (n: number, detail?: unknown): Verdict => ({ outcome: 'score', score: n, detail })
      switch (what) {
        case 'score':
          return score(value as number)
        case 'pid':
          return score(process.pid)
        case 'env':
          return score(1, process.env[value as string] ?? null)
        case 'sleep':
          return new Promise((resolve) => setTimeout(() => resolve(score(1)), value as number))
        case 'then-block':
          setTimeout(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, value as number), 1)
          return score(1)
        case 'polite':
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
        case 'forever':
          return new Promise(() => setInterval(() => undefined, 1_000))
        case 'spin':
          while (true);
        case 'spawn': {
          const { pid } = spawn(process.execPath, ['-e', 'setInterval(() => undefined, 1000)'], {
            stdio: 'ignore',
          })
          writeFileSync(value as string, String(pid))
          while (true);
        }
        case 'heap': {
          const kept: unknown[] = []
          while (true) kept.push(Array.from({ length: 1_000 }, (_, i) => ({ i })))
        }
        case 'buffers': {
          const kept: unknown[] = []
          return new Promise(() => setInterval(() => kept.push(Buffer.alloc(20_000_000, 1)), 5))
        }
        case 'exit':
          return process.exit(value as number)
        case 'signal':
          process.kill(process.pid, 'SIGSEGV')
          return new Promise(() => undefined)
        case 'throw':
          throw new Error(String(value))
        case 'detail':
          return score(1, 'x'.repeat(value as number))
        default:
          throw new Error(`unknown: ${what}`)
      }
    },
  }
}

export function unwilling(): never {
  throw new Error('no model here')
}
