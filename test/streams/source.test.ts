import {
  firstValueFrom,
  lastValueFrom,
  map,
  NEVER,
  type Observable,
  Subject,
  take,
  takeUntil,
  toArray,
} from 'rxjs'
import { describe, expect, test } from 'vitest'
import { createCredit } from '../../streams/credit.ts'
import type { Delivery } from '../../streams/delivery.ts'
import type { Append, Envelope, TopicLog } from '../../streams/ports.ts'
import { source } from '../../streams/source.ts'
import { deadLetters } from '../../topics/index.ts'
import { envelope, marbles, type Small, smalls, turns, when } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'

const topic = smalls('numbers')
const wide = () => createCredit({ records: 1000, bytes: 1 << 20 })

async function filled(count: number, options?: { window?: number }, text = ''): Promise<MemoryLog> {
  const log = new MemoryLog(options)
  const append = Array.from({ length: count }, (_, id) => ({ topic, value: { id, text } }) as Append)
  await log.commit({ append, settle: [] })
  return log
}

const ids = (deliveries: readonly Delivery<Envelope<Small>>[]) => deliveries.map((d) => d.value.value.id)
const all = (s: Observable<Delivery<Envelope<Small>>>) => lastValueFrom(s.pipe(toArray()))

describe('in virtual time', () => {
  const value = (id: number) => envelope('numbers', id, { id, text: '' })
  const one = (id: number) => ({ records: [value(id)], next: id + 1 })
  const start = { s: { floor: 0, beyond: [] } }
  const offsetOf = map((d: Delivery<Envelope<Small>>) => d.value.offset)

  test('asks for one thing after the other and completes at the end', () => {
    marbles(({ cold, expectObservable, expectSubscriptions }) => {
      const position = cold('--(s|)', start)
      const pages = [cold('--(a|)', { a: one(0) }), cold('--(b|)', { b: one(1) })]
      const log = fake({
        offset: () => when(cold('-(e|)', { e: 2 })),
        position: () => when(position),
        fetch: (_: unknown, from: number) => when(pages[from]!) as never,
      })
      const s = source(log, topic, { group: 'g', credit: wide(), until: 'end' })
      expectObservable(s.pipe(offsetOf)).toBe('-----0-(1|)', { 0: 0, 1: 1 })
      expectSubscriptions(position.subscriptions).toBe('-^-!')
      expectSubscriptions(pages[0]!.subscriptions).toBe('---^-!')
      expectSubscriptions(pages[1]!.subscriptions).toBe('-----^-!')
    })
  })

  test('empty', () => {
    marbles(({ cold, expectObservable }) => {
      const log = fake({
        offset: () => when(cold('(e|)', { e: 0 })),
        position: () => when(cold('-(s|)', start)),
      })
      expectObservable(source(log, topic, { group: 'g', credit: wide(), until: 'end' })).toBe('-|')
    })
  })

  test('never: follows until it is unsubscribed, and withdraws its wait then', () => {
    marbles(({ cold, expectObservable, expectSubscriptions, flush }) => {
      const waiting = cold('-')
      const log = fake({
        position: () => when(cold('(s|)', start)),
        fetch: () => when(cold('-(a|)', { a: { records: [], next: 0 } })),
        wait(_, __, signal) {
          const subscription = waiting.subscribe()
          signal.addEventListener('abort', () => subscription.unsubscribe())
          return when(NEVER)
        },
      })
      expectObservable(source(log, topic, { group: 'g', credit: wide() }), '^---!').toBe('-----')
      flush()
      expectSubscriptions(waiting.subscriptions).toBe('-^--!')
    })
  })

  test.each(['offset', 'position', 'fetch', 'wait'] as const)("an error of %s is the stream's", (method) => {
    marbles(({ cold, expectObservable }) => {
      const log = fake({
        offset: () => when(cold('-(e|)', { e: 1 })),
        position: () => when(cold('-(s|)', start)),
        fetch: () => when(cold('-(a|)', { a: { records: [], next: 0 } })),
        [method]: () => when(cold('-#')),
      })
      const at = { offset: '-#', position: '--#', fetch: '---#', wait: '---#' }
      const until = method === 'wait' ? undefined : 'end'
      const s = source(log, topic, { group: 'g', credit: wide(), ...(until ? { until } : {}) })
      expectObservable(s).toBe(at[method])
    })
  })

  const fake = (over: Partial<TopicLog>): TopicLog => Object.assign(new MemoryLog(), over)
})

test('gives each record its position, and reads on from the floor without what is settled beyond', async () => {
  const log = await filled(6)
  await log.commit({
    append: [],
    settle: [0, 2, 4].map((offset) => ({ group: 'g', topic: 'numbers', offset })),
  })
  const credit = wide()
  const got = await all(source(log, topic, { group: 'g', credit, until: 'end' }))
  expect(ids(got)).toEqual([1, 3, 5])
  expect(got[0]!.positions).toEqual([{ group: 'g', topic: 'numbers', offset: 1 }])
  expect(credit.inUse.records).toBe(3)
  for (const d of got) d.release()
  expect(credit.inUse).toEqual({ records: 0, bytes: 0 })
})

test('stops before an offset', async () => {
  const log = await filled(10)
  expect(ids(await all(source(log, topic, { group: 'g', credit: wide(), until: 4 })))).toEqual([0, 1, 2, 3])
})

test('follows: what is appended later arrives', async () => {
  const log = await filled(1)
  const got = firstValueFrom(source(log, topic, { group: 'g', credit: wide() }).pipe(take(3), toArray()))
  await turns()
  await log.commit({ append: [{ topic, value: { id: 1, text: '' } } as Append], settle: [] })
  await log.commit({ append: [{ topic, value: { id: 2, text: '' } } as Append], settle: [] })
  expect(ids(await got)).toEqual([0, 1, 2])
})

test('suspends: reads nothing without credit, and goes on when some returns', async () => {
  const log = await filled(100)
  const credit = createCredit({ records: 3, bytes: 1 << 20 })
  const held: Delivery<Envelope<Small>>[] = []
  const subscription = source(log, topic, { group: 'g', credit }).subscribe((d) => held.push(d))
  await turns()
  expect(ids(held)).toEqual([0, 1, 2])
  const { fetches } = log
  await turns()
  expect(log.fetches).toBe(fetches)
  held[1]!.release()
  held[1]!.release()
  await turns()
  expect(ids(held)).toEqual([0, 1, 2, 3])
  subscription.unsubscribe()
  expect(credit.inUse).toEqual({ records: 0, bytes: 0 })
  expect(credit.waiting).toBe(0)
})

test('credit in bytes: a page never exceeds it, and a record larger than the window still passes, alone', async () => {
  const log = new MemoryLog()
  const lengths = [10, 10, 500, 10, 10]
  await log.commit({
    append: lengths.map((n, id) => ({ topic, value: { id, text: 'x'.repeat(n) } }) as Append),
    settle: [],
  })
  const credit = createCredit({ records: 10, bytes: 100 })
  const got: number[] = []
  await new Promise<void>((resolve) => {
    const held: Delivery<unknown>[] = []
    source(log, topic, { group: 'g', credit, until: 'end' }).subscribe({
      next(d) {
        got.push(d.value.value.id)
        held.push(d)
        if (d.value.value.id === 2) expect(credit.inUse.records).toBe(1)
        // Given back later, out of order.
        void turns(5).then(() => held.pop()?.release())
      },
      complete: resolve,
    })
  })
  expect(got).toEqual([0, 1, 2, 3, 4])
  expect(credit.peak.bytes).toBeGreaterThan(500)
})

test('bytes in use stay within the window where every record fits', async () => {
  const log = await filled(500, {}, 'x'.repeat(30))
  const credit = createCredit({ records: 1000, bytes: 300 })
  let count = 0
  await new Promise<void>((resolve) => {
    source(log, topic, { group: 'g', credit, until: 'end' }).subscribe({
      next(d) {
        count += 1
        void turns(3).then(() => d.release())
      },
      complete: resolve,
    })
  })
  expect(count).toBe(500)
  expect(credit.peak.bytes).toBeLessThanOrEqual(300)
})

test('never hands out what lies a window beyond the floor, and goes on when a commit has moved it', async () => {
  const log = await filled(20, { window: 4 })
  const held: Delivery<Envelope<Small>>[] = []
  const subscription = source(log, topic, { group: 'g', credit: wide() }).subscribe((d) => {
    held.push(d)
    // Into a bounded state: credit returns long before it is settled.
    d.release()
  })
  await turns()
  expect(ids(held)).toEqual([0, 1, 2, 3])
  await log.commit({ append: [], settle: [1, 2].flatMap((i) => held[i]!.positions) })
  held[2]!.release()
  await turns()
  expect(ids(held)).toEqual([0, 1, 2, 3])
  await log.commit({ append: [], settle: held[0]!.positions })
  held[0]!.release()
  await turns()
  expect(ids(held)).toEqual([0, 1, 2, 3, 4, 5, 6])
  subscription.unsubscribe()
})

test('unsubscribing in the middle of a page stops there; the rest comes again, and so does what was held', async () => {
  const log = await filled(10)
  const credit = wide()
  const s = source(log, topic, { group: 'g', credit, until: 'end' })
  const first = await lastValueFrom(s.pipe(take(4), toArray()))
  expect(ids(first)).toEqual([0, 1, 2, 3])
  expect(credit.inUse).toEqual({ records: 0, bytes: 0 })
  first[0]!.release()
  expect(credit.inUse).toEqual({ records: 0, bytes: 0 })
  await log.commit({ append: [], settle: first[2]!.positions })
  expect(ids(await all(s))).toEqual([0, 1, 3, 4, 5, 6, 7, 8, 9])
})

test('a signal ends the intake and leaves what is in flight its credit', async () => {
  const log = await filled(10)
  const credit = createCredit({ records: 2, bytes: 1 << 20 })
  const stop = new AbortController()
  const s = source(log, topic, { group: 'g', credit, signal: stop.signal })
  const done = all(s)
  await turns()
  stop.abort()
  const held = await done
  expect(ids(held)).toEqual([0, 1])
  expect(credit.inUse.records).toBe(2)
  held[0]!.release()
  expect(credit.inUse.records).toBe(1)
  expect(await all(s)).toEqual([])
})

test('a signal during a read returns the credit of the page', async () => {
  const log = await filled(10)
  const credit = createCredit({ records: 5, bytes: 1 << 20 })
  const stop = new AbortController()
  const done = all(source(log, topic, { group: 'g', credit, signal: stop.signal }))
  await Promise.resolve()
  await Promise.resolve()
  stop.abort()
  const held = await done
  expect(credit.inUse.records).toBe(held.length)
})

test('a new subscription takes back the credit that a completed one left behind', async () => {
  const log = await filled(3)
  const credit = createCredit({ records: 3, bytes: 1 << 20 })
  const s = source(log, topic, { group: 'g', credit, until: 'end' })
  await all(s)
  expect(credit.inUse.records).toBe(3)
  expect(ids(await all(s))).toEqual([0, 1, 2])
})

describe('overflow', () => {
  async function run(overflow: 'sliding' | 'dropping') {
    const log = await filled(4)
    const credit = createCredit({ records: 2, bytes: 1 << 20 })
    const held: Delivery<Envelope<Small>>[] = []
    let dropped = 0
    const subscription = source(log, topic, {
      credit,
      overflow,
      onDrop: (n) => {
        dropped += n
      },
    }).subscribe((d) => held.push(d))
    await turns()
    for (let id = 4; id < 10; id++)
      await log.commit({ append: [{ topic, value: { id, text: '' } } as Append], settle: [] })
    for (const d of held) d.release()
    await turns()
    await log.commit({ append: [{ topic, value: { id: 10, text: '' } } as Append], settle: [] })
    await turns()
    for (const d of held) d.release()
    await turns()
    subscription.unsubscribe()
    return { got: ids(held), dropped }
  }

  test('sliding keeps the newest that fit', async () => {
    expect(await run('sliding')).toEqual({ got: [0, 1, 8, 9, 10], dropped: 6 })
  })

  test('dropping keeps what was there', async () => {
    expect(await run('dropping')).toEqual({ got: [0, 1, 10], dropped: 8 })
  })

  test('neither is allowed to one that settles', () => {
    const options = { group: 'g', credit: wide(), overflow: 'dropping' } as const
    expect(() => source(new MemoryLog(), topic, options)).toThrow(
      'source of numbers: expected overflow dropping without a group, since g settles what it reads',
    )
  })
})

describe('a record that cannot be decoded', () => {
  const broken = async () => {
    const log = await filled(2)
    log.corrupt('numbers', Uint8Array.of(1, 2, 3))
    await log.commit({ append: [{ topic, value: { id: 3, text: '' } } as Append], settle: [] })
    return log
  }

  test('fails the stream by default', async () => {
    const s = source(await broken(), topic, { group: 'g', credit: wide(), until: 'end' })
    await expect(all(s)).rejects.toMatchObject({ code: 'RECORD_CORRUPT' })
  })

  test('goes to the dead letters with its raw bytes, its position settled with it', async () => {
    const log = await broken()
    const credit = wide()
    const s = source(log, topic, { group: 'g', credit, until: 'end', onDecodeError: 'dead-letter' })
    expect(ids(await all(s))).toEqual([0, 1, 3])
    expect(log.values(deadLetters('numbers'))).toMatchObject([
      {
        id: 'source:numbers:2',
        operator: 'source',
        sourceOffset: 2,
        code: 'RECORD_CORRUPT',
        raw: Uint8Array.of(1, 2, 3),
      },
    ])
    expect(await log.position('g', 'numbers')).toEqual({ floor: 0, beyond: [2] })
    expect(ids(await all(s))).toEqual([0, 1, 3])
    expect(log.values(deadLetters('numbers'))).toHaveLength(1)
    expect(credit.inUse.records).toBe(3)
  })
})

test('a record that ends the subscription is the last one handed out', async () => {
  const log = await filled(3)
  const stop = new Subject<void>()
  const seen: number[] = []
  await new Promise<void>((resolve) => {
    source(log, topic, { group: 'g', credit: wide(), until: 'end' })
      .pipe(takeUntil(stop))
      .subscribe({
        next(d) {
          seen.push(d.value.value.id)
          if (d.value.value.id === 1) stop.next()
        },
        complete: resolve,
      })
  })
  expect(seen).toEqual([0, 1])
})
