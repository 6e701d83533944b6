import { lastValueFrom, type Observable, of, Subject, toArray } from 'rxjs'
import { describe, expect, test } from 'vitest'
import type { Append, Commit, TopicLog } from '../../streams/ports.ts'
import { sink } from '../../streams/sink.ts'
import { CascadeError } from '../../topics/index.ts'
import { marbles, Probe, smalls, turns, when } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'

const topic = smalls('out')
const append = (id: number) => ({ topic, value: { id, text: '' } }) as Append
const delivery = (id: number, bytes = 10) => new Probe<readonly Append[]>([append(id)], id, bytes)
const idsOf = (log: MemoryLog) => log.values(topic).map((s) => s.id)

describe('in virtual time', () => {
  const d = (id: number) => delivery(id)
  const values = { a: d(0), b: d(1), c: d(2) }
  const fake = (commit: (tx: Commit) => Observable<{ offsets: number[] }>): TopicLog =>
    Object.assign(new MemoryLog(), { commit: (tx: Commit) => when(commit(tx)) })

  test('what becomes ready during a commit makes the next one, and completion waits for it', () => {
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const source = hot('a-bc|', values)
      const seen: number[] = []
      const log = fake((tx) => {
        seen.push(tx.append.length)
        return cold('------(w|)', { w: { offsets: tx.append.map((_, i) => i) } })
      })
      const out = source.pipe(sink(log))
      expectObservable(out).toBe('------x-----(y|)', {
        x: { offsets: [0], deliveries: [values.a] },
        y: { offsets: [0, 1], deliveries: [values.b, values.c] },
      })
      expectSubscriptions(source.subscriptions).toBe('^---!')
    })
  })

  test('what comes in one go shares a commit', () => {
    marbles(({ cold, hot, expectObservable }) => {
      const log = fake((tx) => cold('--(w|)', { w: { offsets: tx.append.map((_, i) => i) } }))
      const written = hot('(abc)--|', values).pipe(sink(log))
      expectObservable(written).toBe('--x----|', {
        x: { offsets: [0, 1, 2], deliveries: [values.a, values.b, values.c] },
      })
    })
  })

  test('never, empty, error, early unsubscribe', () => {
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const log = fake(() => cold('--(w|)', { w: { offsets: [0] } }))
      expectObservable(cold('-').pipe(sink(log) as never), '^---!').toBe('-')
      expectObservable(cold('--|').pipe(sink(log) as never)).toBe('--|')
      expectObservable(cold('--#').pipe(sink(log) as never)).toBe('--#')
      const source = hot('a--b--', values)
      expectObservable(source.pipe(sink(log)), '^---!').toBe('--x--', {
        x: { offsets: [0], deliveries: [values.a] },
      })
      expectSubscriptions(source.subscriptions).toBe('^---!')
    })
  })

  test('a commit that fails ends the stream and its subscription', () => {
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const source = hot('a----b', values)
      expectObservable(source.pipe(sink(fake(() => cold('--#'))))).toBe('--#')
      expectSubscriptions(source.subscriptions).toBe('^-!')
    })
  })
})

test('appends and positions commit together, and credit returns once they are written', async () => {
  const seen: number[] = []
  const deliveries = [delivery(0), delivery(1)]
  const log = new MemoryLog({
    beforeCommit() {
      seen.push(...deliveries.map((d) => d.released))
    },
  })
  const written = await lastValueFrom(of(...deliveries).pipe(sink(log), toArray()))
  expect(written).toEqual([{ offsets: [0, 1], deliveries }])
  expect(seen).toEqual([0, 0])
  expect(deliveries.map((d) => d.released)).toEqual([1, 1])
  expect(await log.position('g', 't')).toEqual({ floor: 2, beyond: [] })
})

test('finished outputs never wait for order', async () => {
  const log = new MemoryLog()
  const input = new Subject<Probe<readonly Append[]>>()
  const done = lastValueFrom(input.pipe(sink(log), toArray()))
  input.next(delivery(2))
  await turns()
  expect(await log.position('g', 't')).toEqual({ floor: 0, beyond: [2] })
  input.next(delivery(0))
  await turns()
  expect(await log.position('g', 't')).toEqual({ floor: 1, beyond: [2] })
  input.complete()
  await done
})

test('a commit stays within its limits, unless one delivery alone is larger', async () => {
  const log = new MemoryLog()
  const many = new Probe<readonly Append[]>([append(1), append(2), append(3)], 1)
  const input = of(delivery(0), many, delivery(4), delivery(5), delivery(6, 100), delivery(7))
  const written = await lastValueFrom(input.pipe(sink(log, { maxRecords: 2, maxBytes: 50 }), toArray()))
  expect(written.map((w) => w.offsets)).toEqual([[0], [1, 2, 3], [4, 5], [6], [7]])
})

test('a delivery without outputs settles all the same', async () => {
  const log = new MemoryLog()
  const written = await lastValueFrom(of(new Probe<readonly Append[]>([], 0)).pipe(sink(log), toArray()))
  expect(written[0]!.offsets).toEqual([])
  expect((await log.position('g', 't')).floor).toBe(1)
})

test('unsubscribing stops the intake and waits for the commit in flight, which is never cancelled', async () => {
  const gate = new Subject<void>()
  const log = new MemoryLog({ beforeCommit: () => lastValueFrom(gate, { defaultValue: undefined }) })
  const to = sink(log)
  const input = new Subject<Probe<readonly Append[]>>()
  const [first, second] = [delivery(0), delivery(1)]
  const subscription = input.pipe(to).subscribe()
  input.next(first)
  await turns()
  input.next(second)
  subscription.unsubscribe()
  expect(input.observed).toBe(false)
  let drained = false
  const waiting = to.drained().then(() => {
    drained = true
  })
  await turns()
  expect(drained).toBe(false)
  gate.complete()
  await waiting
  expect(idsOf(log)).toEqual([0])
  expect([first.released, second.released]).toEqual([1, 0])
  await to.drained()
})

test('a commit that fails after its subscription has ended is heard of by whoever drains', async () => {
  const gate = new Subject<void>()
  const log = new MemoryLog({ beforeCommit: () => lastValueFrom(gate, { defaultValue: undefined }) })
  const to = sink(log)
  const subscription = of(delivery(0)).pipe(to).subscribe()
  await turns()
  subscription.unsubscribe()
  const waiting = expect(to.drained()).rejects.toMatchObject({ code: 'LOG_FULL' })
  gate.error(new CascadeError('LOG_FULL', 'full'))
  await waiting
  await to.drained()
})

test('an output that its topic refuses ends the stream, and nothing of the commit is written', async () => {
  const log = new MemoryLog()
  const bad = new Probe<readonly Append[]>([append(0), { topic, value: { id: 'x' } } as unknown as Append], 0)
  await expect(lastValueFrom(of(bad).pipe(sink(log)))).rejects.toMatchObject({ code: 'RECORD_INVALID' })
  expect(idsOf(log)).toEqual([])
  expect(bad.released).toBe(0)
})

test('refuses limits of nothing', () => {
  expect(() => sink(new MemoryLog(), { maxRecords: 0 })).toThrowError(
    expect.objectContaining({ code: 'CONFIG_INVALID' }),
  )
})
