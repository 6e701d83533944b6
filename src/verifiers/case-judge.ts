import type { Verdict } from '../../streams/ports.ts'
import { type KindEntry, openKind } from './kinds.ts'
import { type Judged, type Limits, Pool } from './pool/index.ts'

export interface CaseJudgeOptions {
  flags: Readonly<Record<string, unknown>>
  jobs: number
  limits: Pick<Limits, 'wallMs' | 'memoryMb'>
}

/** Judges cases of one kind, `jobs` at a time. */
export interface PooledJudge extends AsyncDisposable {
  /** @throws the signal's reason */
  submit(value: unknown, signal: AbortSignal): Promise<Judged>
}

/**
 * A kind that only computes is spread over processes, which are held to the limits; one that brings its own workers is called here.
 *
 * @throws what the kind's module throws
 */
export async function openCaseJudge(entry: KindEntry, options: CaseJudgeOptions): Promise<PooledJudge> {
  const { flags, jobs, limits } = options
  const { work } = await entry.load()
  if (work === 'pure') {
    // Type stripping leaves the extension as it is, the build does not.
    const file = import.meta.url.endsWith('.ts') ? './kinds.ts' : './kinds.js'
    const module = new URL(file, import.meta.url).href
    const target = { module, name: openKind.name, options: { kind: entry.name, flags, jobs: 1 } }
    const pool = new Pool(target, { size: jobs, limits })
    return {
      submit: (value, signal) => pool.submit(value, signal),
      [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
    }
  }
  const judge = await openKind({ kind: entry.name, flags, jobs })
  return {
    async submit(value, signal) {
      const began = performance.now()
      const verdict: Verdict = await judge.judge(value, signal)
      return { verdict, ms: performance.now() - began }
    },
    [Symbol.asyncDispose]: async () => judge[Symbol.asyncDispose]?.(),
  }
}
