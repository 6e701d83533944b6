import type { Verdict } from '../../streams/ports.ts'
import { type KindEntry, openKind, targetOf } from './kinds.ts'
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
 * @throws what the kind's module throws, and VERIFIER_FAILED where its processes cannot start
 */
export async function openCaseJudge(entry: KindEntry, options: CaseJudgeOptions): Promise<PooledJudge> {
  const { flags, jobs, limits } = options
  const kind = await entry.load()
  await kind.check?.(flags)
  const work = typeof kind.work === 'function' ? kind.work(flags) : kind.work
  if (work === 'pure') {
    const pool = new Pool(targetOf(entry.name, flags), { size: jobs, limits })
    try {
      await pool.started
    } catch (error) {
      await pool[Symbol.asyncDispose]()
      throw error
    }
    return {
      submit: (value, signal) => pool.submit(value, signal),
      [Symbol.asyncDispose]: () => pool[Symbol.asyncDispose](),
    }
  }
  const judge = await openKind({ kind: entry.name, flags, jobs, limits })
  return {
    async submit(value, signal) {
      let began = performance.now()
      const verdict: Verdict = await judge.judge(value, signal, () => {
        began = performance.now()
      })
      return { verdict, ms: performance.now() - began }
    },
    [Symbol.asyncDispose]: async () => judge[Symbol.asyncDispose]?.(),
  }
}
