import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { quickRatio, ratio } from '../../../src/verifiers/patch/similarity.ts'
import { sharedData } from '../../shared-data.ts'

/** The definition, word by word and slow: the longest run, first in a, then first in b; then left and right of it. */
function plain(a: string[], b: string[]): number {
  let best = { size: 0, i: 0, j: 0 }
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length; j++) {
      let size = 0
      while (i + size < a.length && j + size < b.length && a[i + size] === b[j + size]) size += 1
      if (size > best.size) best = { size, i, j }
    }
  }
  if (best.size === 0) return 0
  const { size, i, j } = best
  return size + plain(a.slice(0, i), b.slice(0, j)) + plain(a.slice(i + size), b.slice(j + size))
}

const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '😀', '\n'), maxLength: 40 })

test('is the definition, by code points', () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      const [x, y] = [[...a], [...b]]
      const expected = x.length + y.length === 0 ? 1 : (2 * plain(x, y)) / (x.length + y.length)
      expect(ratio(a, b)).toBe(expected)
      expect(quickRatio(a, b)).toBeGreaterThanOrEqual(expected)
    }),
    { numRuns: 500 },
  )
})

// Numbers of CPython 3.11.7.
test.each([
  ['', '', 1],
  ['abc', '', 0],
  ['abcd', 'bcde', 0.75],
  ['tide', 'diet', 0.25],
  ['diet', 'tide', 0.5],
])('%j and %j: %d', (a, b, expected) => {
  expect(ratio(a, b)).toBe(expected)
})

test('autojunk takes out what is frequent in a second text of 200 or more', () => {
  const b = `${'x'.repeat(199)}y`
  expect(ratio('xx', b)).toBe(4 / 202)
  expect(ratio('xx', b, { autojunk: true })).toBe(4 / 202)
  expect(ratio('zxx', b)).toBe(4 / 203)
  expect(ratio('zxx', b, { autojunk: true })).toBe(0)
  expect(ratio('xy', b, { autojunk: true })).toBe(4 / 202)
  expect(ratio('zxx', b.slice(1), { autojunk: true })).toBe(4 / 202)
})

test('lines are cut as Python cuts them', () => {
  expect(ratio('a\r\nb\n', 'a\nb', { unit: 'lines' })).toBe(1)
  expect(ratio('a\x0bb', 'a\x1cc\u2028d', { unit: 'lines' })).toBe(2 / 5)
})

test('long texts take linear time a match, and hostile ones are given up', () => {
  const words = Array.from({ length: 30_000 }, (_, i) => `w${(i * 7919) % 1009}`)
  const a = words.join(' ')
  expect(ratio(a, `${a}!`)).toBeCloseTo(1, 4)
  const scattered = Array.from({ length: 4000 }, (_, i) => `${String.fromCodePoint(0x4e00 + i)}-`).join('')
  const other = scattered.replaceAll('-', '+')
  expect(() => ratio(scattered, other, { maxWork: 1e6 })).toThrow('expected at most 1000000 steps')
})

const [oracle, predictions, instances] = ['similarity_oracle.derived', 'aider_predictions', 'instances'].map(
  (name) => sharedData(`swebench-lite/${name}.jsonl`),
)
describe.skipIf(!oracle)('against CPython over SWE-bench Lite', () => {
  test('every number of every row', () => {
    const read = (path: string) =>
      readFileSync(path, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
    const ours = new Map(read(predictions!).map((row) => [row.instance_id, row.model_patch]))
    const gold = new Map(read(instances!).map((row) => [row.instance_id, row.patch]))
    const rows = read(oracle!)
    expect(rows.length).toBeGreaterThan(100)
    for (const row of rows) {
      const [a, b] = [ours.get(row.instance_id), gold.get(row.instance_id)]
      const got = [
        ratio(a, b),
        ratio(b, a),
        ratio(a, b, { autojunk: true }),
        ratio(a, b, { unit: 'lines' }),
        quickRatio(a, b),
      ]
      const names = [
        'ratio_pred_gold',
        'ratio_gold_pred',
        'ratio_pred_gold_autojunk',
        'ratio_pred_gold_lines',
        'quick_ratio_pred_gold',
      ]
      names.forEach((name, i) => {
        expect(Math.abs(got[i]! - row[name]), `${row.instance_id} ${name}`).toBeLessThan(1e-9)
      })
    }
  })
})
