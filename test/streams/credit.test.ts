import fc from 'fast-check'
import { asapScheduler } from 'rxjs'
import { expect, test } from 'vitest'
import { createCredit } from '../../streams/credit.ts'

const soon = () => new Promise<void>((resolve) => asapScheduler.schedule(() => resolve()))

test('takes all or nothing, and counts both', () => {
  const credit = createCredit({ records: 2, bytes: 100 })
  expect(credit.take(1, 60)).toBe(true)
  expect(credit.take(1, 60)).toBe(false)
  expect(credit.take(2, 1)).toBe(false)
  expect(credit.take(1, 40)).toBe(true)
  expect(credit.inUse).toEqual({ records: 2, bytes: 100 })
  credit.release(1, 60)
  expect(credit.inUse).toEqual({ records: 1, bytes: 40 })
  expect(credit.peak).toEqual({ records: 2, bytes: 100 })
})

test('takes up to what is free', () => {
  const credit = createCredit({ records: 4, bytes: 100 })
  expect(credit.takeUpTo(3, 1000)).toEqual({ records: 3, bytes: 100 })
  expect(credit.takeUpTo(1, 1)).toEqual({ records: 0, bytes: 0 })
  expect(credit.inUse).toEqual({ records: 3, bytes: 100 })
})

test('one record larger than the whole window gets an overdraft once nothing is in use', async () => {
  const credit = createCredit({ records: 4, bytes: 10 })
  credit.take(1, 1)
  let granted = 0
  credit.request(1, 1000, () => {
    granted += 1
  })
  await soon()
  expect(granted).toBe(0)
  credit.release(1, 1)
  await soon()
  expect(granted).toBe(1)
  expect(credit.peak.bytes).toBe(1000)
  expect(credit.take(1, 1)).toBe(false)
  credit.release(1, 1000)
  expect(credit.take(1, 1)).toBe(true)
})

test('serves requests in order: a large one is not starved by small ones', async () => {
  const credit = createCredit({ records: 10, bytes: 100 })
  credit.take(1, 90)
  const served: string[] = []
  credit.request(1, 50, () => served.push('large'))
  credit.request(1, 5, () => served.push('small'))
  await soon()
  expect(served).toEqual([])
  expect(credit.take(1, 5)).toBe(false)
  credit.release(1, 90)
  await soon()
  expect(served).toEqual(['large', 'small'])
})

test('a withdrawn request lets the next one through', async () => {
  const credit = createCredit({ records: 1, bytes: 100 })
  credit.take(1, 95)
  const served: string[] = []
  const withdraw = credit.request(1, 100, () => served.push('withdrawn'))
  credit.request(0, 5, () => served.push('next'))
  withdraw()
  withdraw()
  await soon()
  expect(served).toEqual(['next'])
})

test('a release never calls back within itself', () => {
  const credit = createCredit({ records: 1, bytes: 1 })
  credit.take(1, 1)
  let called = false
  credit.request(1, 1, () => {
    called = true
  })
  credit.release(1, 1)
  expect(called).toBe(false)
})

test('a chain of 100,000 grants and releases does not grow the stack', async () => {
  const credit = createCredit({ records: 1, bytes: 1 })
  let left = 100_000
  await new Promise<void>((resolve) => {
    const pull = () => {
      left -= 1
      if (left === 0) resolve()
      else {
        credit.request(1, 1, pull)
        credit.release(1, 1)
      }
    }
    credit.request(1, 1, pull)
  })
  expect(left).toBe(0)
})

test('refuses a window of nothing and a release of more than is held', () => {
  expect(() => createCredit({ records: 0, bytes: 1 })).toThrow(
    'credit: expected records of at least 1, got 0',
  )
  expect(() => createCredit({ records: 1, bytes: Number.NaN })).toThrow(
    'expected bytes of at least 1, got NaN',
  )
  const credit = createCredit({ records: 1, bytes: 1 })
  expect(() => credit.release(1, 0)).toThrowError(expect.objectContaining({ code: 'CREDIT_EXCEEDED' }))
})

test('never passes its limit, whatever is taken and given back', () => {
  const step = fc.record({ take: fc.boolean(), records: fc.nat(5), bytes: fc.nat(40) })
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const credit = createCredit({ records: 8, bytes: 64 })
      const held: [number, number][] = []
      for (const { take, records, bytes } of steps) {
        if (!take) {
          const [r, b] = held.pop() ?? [0, 0]
          credit.release(r, b)
        } else if (credit.take(records, bytes)) held.push([records, bytes])
      }
      expect(credit.peak.records).toBeLessThanOrEqual(8)
      expect(credit.peak.bytes).toBeLessThanOrEqual(64)
      for (const [r, b] of held) credit.release(r, b)
      expect(credit.inUse).toEqual({ records: 0, bytes: 0 })
    }),
  )
})
