import { of } from 'rxjs'
import { expect, test } from 'vitest'
import { mapDelivery } from '../../streams/map-delivery.ts'
import { marbles, Probe } from './helpers.ts'

const values = { a: new Probe(1, 0), b: new Probe(2, 1) }
const double = mapDelivery((n: number) => n * 2)

test('values and subscriptions', () => {
  marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
    const source = hot('a-b-|', values)
    const seen = source.pipe(double)
    expectObservable(seen).toBe('x-y-|', {
      x: expect.objectContaining({ value: 2, positions: values.a.positions, bytes: 10 }),
      y: expect.objectContaining({ value: 4, positions: values.b.positions, bytes: 10 }),
    })
    expectObservable(seen, '^-!').toBe('x--', { x: expect.anything() })
    expectSubscriptions(source.subscriptions).toBe(['^---!', '^-!'])
    expectObservable(cold<Probe<number>>('-').pipe(double)).toBe('-')
    expectObservable(cold<Probe<number>>('|').pipe(double)).toBe('|')
    expectObservable(cold<Probe<number>>('-#').pipe(double)).toBe('-#')
  })
})

test('a throwing callback is the error of the stream and ends the subscription', () => {
  marbles(({ hot, expectObservable, expectSubscriptions }) => {
    const source = hot('a-b-|', values)
    const picky = mapDelivery((n: number) => {
      if (n === 2) throw 'error'
      return n
    })
    expectObservable(source.pipe(picky)).toBe('x-#', { x: expect.anything() })
    expectSubscriptions(source.subscriptions).toBe('^-!')
  })
})

test('releasing the output releases the input', () => {
  const input = new Probe(1)
  of(input)
    .pipe(double, double)
    .subscribe((d) => d.release())
  expect(input.released).toBe(1)
})
