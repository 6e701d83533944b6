import { from, lastValueFrom, map, range, toArray } from 'rxjs'
import { expect, test } from 'vitest'
import { groupDelivery } from '../../streams/group-delivery.ts'
import { marbles, Probe } from './helpers.ts'

const values = { a: new Probe('x1', 0), b: new Probe('y1', 1), c: new Probe('y2', 2), d: new Probe('x2', 3) }
const positions = (...offsets: number[]) => offsets.map((offset) => ({ group: 'g', topic: 't', offset }))
const byLetter = groupDelivery<string>({ size: 2, key: (s) => s[0]!, maxOpen: 2 })

test('values and subscriptions', () => {
  marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
    const source = hot('a-b-c-d-|', values)
    const seen = source.pipe(byLetter)
    expectObservable(seen).toBe('----y-x-|', {
      x: expect.objectContaining({ value: ['x1', 'x2'], positions: positions(0, 3) }),
      y: expect.objectContaining({ value: ['y1', 'y2'], positions: positions(1, 2) }),
    })
    expectObservable(seen, '^--!').toBe('----')
    expectSubscriptions(source.subscriptions).toBe(['^-------!', '^--!'])
    expectObservable(cold<Probe<string>>('-').pipe(byLetter)).toBe('-')
    expectObservable(cold<Probe<string>>('|').pipe(byLetter)).toBe('|')
    expectObservable(cold('a-|', values).pipe(byLetter)).toBe('--|')
    expectObservable(cold('a-#', values).pipe(byLetter)).toBe('--#')
  })
})

test('a throwing key is the error of the stream', () => {
  marbles(({ hot, expectObservable, expectSubscriptions }) => {
    const source = hot('a-b', values)
    const throwing = groupDelivery<string>({
      size: 2,
      maxOpen: 2,
      key(s) {
        if (s === 'y1') throw 'error'
        return s
      },
    })
    expectObservable(source.pipe(throwing)).toBe('--#')
    expectSubscriptions(source.subscriptions).toBe('^-!')
  })
})

test('members give their credit back as they enter; the last one lends its own to the group', () => {
  const members = [new Probe('x1'), new Probe('x2')]
  const out: { release(): void }[] = []
  from(members)
    .pipe(byLetter)
    .subscribe((d) => out.push(d))
  expect(members.map((m) => m.released)).toEqual([1, 0])
  out[0]!.release()
  expect(members.map((m) => m.released)).toEqual([1, 1])
})

test('refuses one open group more than its bound', async () => {
  const source = range(0, 3).pipe(map((i) => new Probe(`${i}`, i)))
  await expect(lastValueFrom(source.pipe(byLetter, toArray()))).rejects.toMatchObject({
    code: 'CREDIT_EXCEEDED',
  })
})
