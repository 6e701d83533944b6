import { lastValueFrom, map, of, range, take, toArray } from 'rxjs'
import { expect, test } from 'vitest'
import { batchDelivery } from '../../streams/batch-delivery.ts'
import { marbles, Probe } from './helpers.ts'

const values = { a: new Probe(1, 0), b: new Probe(2, 1), c: new Probe(3, 2) }
const positions = (...offsets: number[]) => offsets.map((offset) => ({ group: 'g', topic: 't', offset }))
const pairs = batchDelivery<number>(2)

test('values and subscriptions', () => {
  marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
    const source = hot('a-b-c-|', values)
    const seen = source.pipe(pairs)
    expectObservable(seen).toBe('--x---(y|)', {
      x: expect.objectContaining({ value: [1, 2], positions: positions(0, 1), bytes: 20 }),
      y: expect.objectContaining({ value: [3], positions: positions(2), bytes: 10 }),
    })
    expectObservable(seen, '^---!').toBe('--x--', { x: expect.anything() })
    expectSubscriptions(source.subscriptions).toBe(['^-----!', '^---!'])
    expectObservable(cold<Probe<number>>('-').pipe(pairs)).toBe('-')
    expectObservable(cold<Probe<number>>('|').pipe(pairs)).toBe('|')
    expectObservable(cold('a-#', values).pipe(pairs)).toBe('--#')
  })
})

test('a subscriber that has enough stops a source that emits while being subscribed', async () => {
  let asked = 0
  const source = range(0, 1_000_000).pipe(
    map((i) => {
      asked += 1
      return new Probe(i, i)
    }),
  )
  const got = await lastValueFrom(source.pipe(pairs, take(2), toArray()))
  expect(got.map((d) => d.value)).toEqual([
    [0, 1],
    [2, 3],
  ])
  expect(asked).toBe(4)
})

test('holds the credit of all members until the batch is released', () => {
  const members = [new Probe(1), new Probe(2)]
  of(...members)
    .pipe(pairs)
    .subscribe((d) => {
      expect(members.map((m) => m.released)).toEqual([0, 0])
      d.release()
    })
  expect(members.map((m) => m.released)).toEqual([1, 1])
})

test('refuses an impossible size', () => {
  expect(() => batchDelivery(0)).toThrow('batch: expected a size of at least 1, got 0')
})
