import { expect, test } from 'vitest'
import { backoffMs } from '../../streams/backoff.ts'

test('the bound doubles up to the most, and the wait lies in its upper half', () => {
  const at = (tries: number, random: number) =>
    backoffMs(tries, { baseMs: 100, maxMs: 1000, random: () => random })
  expect([1, 2, 3, 4, 5, 60].map((tries) => at(tries, 0))).toEqual([50, 100, 200, 400, 500, 500])
  expect([1, 2, 3, 4, 5, 60].map((tries) => at(tries, 0.5))).toEqual([75, 150, 300, 600, 750, 750])
  expect(at(1, 1 - 2 ** -53)).toBeLessThanOrEqual(100)
})
