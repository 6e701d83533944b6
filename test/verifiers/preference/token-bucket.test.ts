import fc from 'fast-check'
import { expect, test } from 'vitest'
import { TokenBucket } from '../../../src/verifiers/preference/token-bucket.ts'

test('a minute at once, then one after the other', () => {
  const bucket = new TokenBucket(60)
  expect(bucket.take(60, 0)).toBe(0)
  expect(bucket.take(1, 0)).toBe(1000)
  expect(bucket.take(2, 0)).toBe(3000)
  expect(bucket.take(1, 3000)).toBe(1000)
  bucket.giveBack(2, 3000)
  expect(bucket.take(1, 3000)).toBe(0)
})

test('more than a minute has is waited for, and time that goes back adds nothing', () => {
  const bucket = new TokenBucket(10)
  expect(bucket.take(20, 1000)).toBe(60_000)
  expect(bucket.take(1, 0)).toBe(66_000)
  expect(bucket.take(0, 1000)).toBe(66_000)
})

test('no stretch of time gets more than its rate and one burst', () => {
  const call = fc.record({
    amount: fc.integer({ min: 1, max: 30 }),
    pause: fc.integer({ min: 0, max: 20_000 }),
  })
  fc.assert(
    fc.property(fc.array(call, { maxLength: 40 }), (calls) => {
      const bucket = new TokenBucket(60)
      let now = 0
      const starts = calls.map(({ amount, pause }) => {
        now += pause
        return { at: now + bucket.take(amount, now), amount }
      })
      for (const { at: from } of starts) {
        for (const { at: to } of starts) {
          const within = starts.filter((s) => s.at >= from && s.at <= to).reduce((n, s) => n + s.amount, 0)
          if (to >= from) expect(within).toBeLessThanOrEqual(60 + (to - from) / 1000 + 30 + 1e-6)
        }
      }
    }),
  )
})
