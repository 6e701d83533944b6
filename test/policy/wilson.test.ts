import { expect, test } from 'vitest'
import { wilson } from '../../src/policy/wilson.ts'

test('Wilson intervals as published tables give them', () => {
  const rounded = (share: number, n: number) => wilson(share, n).map((x) => Number(x.toFixed(4)))
  // Newcombe 1998, table I, method 3 (score without continuity correction).
  expect(rounded(81 / 263, 263)).toEqual([0.2553, 0.3662])
  expect(rounded(15 / 148, 148)).toEqual([0.0624, 0.1605])
  expect(rounded(0, 20)).toEqual([0, 0.1611])
  expect(rounded(1 / 29, 29)).toEqual([0.0061, 0.1718])
  expect(rounded(1, 20)).toEqual([0.8389, 1])
})
