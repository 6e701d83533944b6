import { expect, it } from 'vitest'
import { clip, sameData, sameOutput } from '../../../src/verifiers/code/compare.ts'

it.each([
  ['a\nb\n', 'a  \nb\n\n\n', true],
  ['', '\n', true],
  ['a', ' a', false],
  ['a\n\nb', 'a\nb', false],
  ['a\r\n', 'a\n', true],
])('output %j and %j: %s', (expected, got, same) => {
  expect(sameOutput(expected, got)).toBe(same)
})

it.each([
  [1, 1, true],
  [1, true, false],
  [1, '1', false],
  [0, -0, true],
  [null, undefined, false],
  [null, null, true],
  [[1, [2]], [1, [2]], true],
  [[1, 2], [1], false],
  [[], {}, false],
  [{}, [], false],
  [{ a: 1, b: 2 }, { b: 2, a: 1 }, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: null }, { b: null }, false],
  [2 ** 60, 2n ** 60n, true],
  [2 ** 60, 2n ** 60n + 1n, false],
  [0.5, 1n, false],
  [0.1 + 0.2, 0.3, false],
])('data %j and %o: %s', (expected, got, same) => {
  expect(sameData(expected, got)).toBe(same)
})

it('looks at own keys alone', () => {
  expect(sameData(JSON.parse('{"__proto__": 1}'), {})).toBe(false)
  expect(sameData({ toString: 1 }, {})).toBe(false)
})

it('cuts what is long in the middle and says how much', () => {
  expect(clip('x'.repeat(1000))).toMatch(/^x{200} … 600 characters … x{200}$/)
  expect(clip([1, 2n, Number.NaN])).toBe('[1,"2","NaN"]')
})
