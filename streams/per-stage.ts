import { concatMap, filter, type Observable, type OperatorFunction, takeWhile, tap } from 'rxjs'
import type { Control } from '../topics/index.ts'

type Begin = Extract<Control, { type: 'stage-begin' }>

/**
 * The stage transition: control records become the flows of their stages, one after the other. `open` is subscribed to
 * at a stage's `stage-begin`; its signal aborts at the `stage-drain` of that stage, upon which the flow stops its intake,
 * writes what it holds and completes; only then may the next stage's begin. Completes after `run-end`.
 */
export function perStage<R>(
  open: (stage: string, drain: AbortSignal) => Observable<R>,
): OperatorFunction<Control, R> {
  return (source) => {
    const drains = new Map<string, AbortController>()
    const drainOf = (stage: string): AbortController => {
      const known = drains.get(stage)
      if (known) return known
      const made = new AbortController()
      drains.set(stage, made)
      return made
    }
    return source.pipe(
      takeWhile((record) => record.type !== 'run-end'),
      // Outside the queue of `concatMap`: a stage's drain must reach it while it runs.
      tap((record) => {
        if (record.type === 'stage-drain') drainOf(record.stage).abort()
      }),
      filter((record): record is Begin => record.type === 'stage-begin'),
      concatMap(({ stage }) => open(stage, drainOf(stage).signal)),
    )
  }
}
