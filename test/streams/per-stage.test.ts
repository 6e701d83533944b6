import { delay, EMPTY, fromEvent, NEVER, type Observable, of, Subject, takeUntil, throwError } from 'rxjs'
import { expect, test } from 'vitest'
import { perStage } from '../../streams/per-stage.ts'
import type { Control } from '../../topics/index.ts'
import { marbles } from './helpers.ts'
import { closed, controlWriter } from './stages.ts'

const say = controlWriter()
const begin = (stage: string, index: number) => say({ type: 'stage-begin', stage, index, version: 0 })
const drain = (stage: string) => say({ type: 'stage-drain', stage, steps: 1, version: 1 })

/** Lower case begins a stage, upper case drains it. */
const records: Record<string, Control> = {
  a: begin('first', 0),
  x: say(closed({ stage: 'first' })),
  A: drain('first'),
  b: begin('second', 1),
  B: drain('second'),
  e: say({ type: 'run-end', version: 2 }),
}

/** What flows until two frames after the drain: a flow that writes what it holds. */
const until = (signal: AbortSignal) => (flow: Observable<string>) =>
  flow.pipe(takeUntil(fromEvent(signal, 'abort').pipe(delay(2))))

test('a stage runs from its begin until it has drained; the next one waits for that', () => {
  marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
    const control = hot('  a-x-Ab----B----e', records)
    const first = cold('   -1-1-1-1-1')
    const second = cold('        -2-2-2-2-2')
    const flows: Record<string, Observable<string>> = { first, second }
    const seen = control.pipe(perStage((stage, signal) => flows[stage]!.pipe(until(signal))))
    expectObservable(seen).toBe('-1-1-1-2-2-2---|')
    expectSubscriptions(control.subscriptions).toBe('^--------------!')
    expectSubscriptions(first.subscriptions).toBe('  ^-----!')
    expectSubscriptions(second.subscriptions).toBe(' ------^-----!')
  })
})

test('the end of the run waits for the flow that is still open', () => {
  marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
    const control = hot('a-e', records)
    const flow = cold('  -1-1-|')
    expectObservable(control.pipe(perStage(() => flow))).toBe('-1-1-|')
    expectSubscriptions(control.subscriptions).toBe('^-!')
    expectSubscriptions(flow.subscriptions).toBe('^----!')
  })
})

test('a control that never says anything, and one that ends at once', () => {
  marbles(({ cold, expectObservable }) => {
    expectObservable(cold<Control>('-').pipe(perStage(() => NEVER))).toBe('-')
    expectObservable(cold<Control>('|').pipe(perStage(() => NEVER))).toBe('|')
  })
})

test.each([
  ['a flow', 'a---', '-1#', '-1#', '^-!', '^-!'],
  ['control', 'a-#', '-1-1-', '-1#', '^-!', '^-!'],
])('an error of %s ends both', (_, controlled, flowing, expected, ofControl, ofFlow) => {
  marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
    const control = hot(controlled, records)
    const flow = cold(flowing)
    expectObservable(control.pipe(perStage(() => flow))).toBe(expected)
    expectSubscriptions(control.subscriptions).toBe(ofControl)
    expectSubscriptions(flow.subscriptions).toBe(ofFlow)
  })
})

test('a stage that cannot be opened is the error of the stream', () => {
  marbles(({ hot, expectObservable, expectSubscriptions }) => {
    const control = hot('-a--', records)
    const seen = control.pipe(
      perStage(() => {
        throw 'error'
      }),
    )
    expectObservable(seen).toBe('-#')
    expectSubscriptions(control.subscriptions).toBe('^!')
  })
})

test('unsubscribing closes the flow, and opens none that waits', () => {
  marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
    const control = hot('ab----', records)
    const first = cold(' -1-1-1')
    const second = cold('2')
    const flows: Record<string, Observable<string>> = { first, second }
    expectObservable(control.pipe(perStage((stage) => flows[stage]!)), '^---!').toBe('-1-1')
    expectSubscriptions(control.subscriptions).toBe('^---!')
    expectSubscriptions(first.subscriptions).toBe('^---!')
    expectSubscriptions(second.subscriptions).toBe([])
  })
})

test('each stage has a drain of its own, which one that waits finds aborted already', () => {
  const control = new Subject<Control>()
  const signals: Record<string, AbortSignal> = {}
  const firstEnds = new Subject<string>()
  control
    .pipe(
      perStage((stage, signal) => {
        signals[stage] = signal
        return stage === 'first' ? firstEnds : EMPTY
      }),
    )
    .subscribe()
  for (const key of ['a', 'b', 'B']) control.next(records[key]!)
  expect(Object.keys(signals)).toEqual(['first'])
  expect(signals.first!.aborted).toBe(false)
  control.next(records.A!)
  expect(signals.first!.aborted).toBe(true)
  firstEnds.complete()
  expect(signals.second!.aborted).toBe(true)
})

test('subscriptions do not share their drains', () => {
  const signals: AbortSignal[] = []
  const staged = perStage((_, signal) => {
    signals.push(signal)
    return throwError(() => 'error')
  })
  of(records.A!, records.a!)
    .pipe(staged)
    .subscribe({ error: () => undefined })
  of(records.a!)
    .pipe(staged)
    .subscribe({ error: () => undefined })
  expect(signals.map((s) => s.aborted)).toEqual([true, false])
})
