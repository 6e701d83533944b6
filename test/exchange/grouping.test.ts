import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ClosedStep, Grouping, type StepLimits } from '../../src/exchange/grouping.ts'
import type { ForeignRollout } from '../../src/exchange/index.ts'

const limits: StepLimits = { rows: 4, numberedRows: 8, bytes: 1000, groupRows: 6 }

type Item = Partial<ForeignRollout> & { readonly response: string }

function closed(rows: readonly Item[], of = limits, bytes = 1): ClosedStep[] {
  const grouping = new Grouping(of)
  const steps = rows.map((rollout, i) => grouping.add({ rollout, place: { file: 'f', line: i + 1 } }, bytes))
  return [...steps, grouping.end()].filter((s) => s !== undefined)
}

const short = (steps: readonly ClosedStep[]) =>
  steps.map(({ step, groups }) => [step, ...groups.map((g) => g.map((r) => r.rollout.response).join(''))])

const rows = (text: string, more: (c: string) => Partial<ForeignRollout> = () => ({})) =>
  [...text].map((c) => ({ prompt: c, response: c, ...more(c) }))

test('rows of one prompt are a group, wherever they stand in their step', () => {
  expect(short(closed(rows('aabab').slice(0, 4)))).toEqual([[1, 'aaa', 'b']])
})

test('a name of a group goes before the prompt', () => {
  const named = rows('abc', (c) => ({ group: c === 'b' ? '2' : '1' }))
  expect(short(closed(named))).toEqual([[1, 'ac', 'b']])
})

test('a step without a number ends before the next group, once it is large', () => {
  expect(short(closed(rows('aabbbbccd')))).toEqual([
    [1, 'aa', 'bbbb'],
    [2, 'cc', 'd'],
  ])
})

test('a step with a number ends where the number changes; numbers rise as the trainer had them, and never fall', () => {
  const numbered = [5, 5, 5, 5, 5, 5, 9, 3, 3, 0].map((step, i) => ({
    prompt: `${i % 2}`,
    response: `${i}`,
    step,
  }))
  expect(short(closed(numbered))).toEqual([
    [5, '024', '135'],
    [9, '6'],
    [10, '7', '8'],
    [11, '9'],
  ])
})

test('memory is bounded in bytes too', () => {
  expect(closed(rows('abc'), limits, 600)).toHaveLength(2)
  expect(() => closed(rows('aaaaaaaaaaaaaaaaaaa'), { ...limits, groupRows: 100 }, 600)).toThrow(
    /at most 100 rows/,
  )
})

test('a group that never ends is refused', () => {
  expect(() => closed(rows('aaaaaaa'))).toThrow(
    '(row): expected at most 6 rows of one group, got more: give rows the names of their groups',
  )
})

test('a group has one judge', () => {
  const by = (verifier: string) => ({
    prompt: 'p',
    response: 'r',
    reward: { outcome: 'score', score: 1, verifier } as const,
  })
  expect(() => closed([by('a'), by('b')])).toThrow(
    'verifier: expected a, as the first row of its group has, got b',
  )
})

test('every row comes out once, in the order of its group; steps rise', () => {
  const row = fc.record({
    prompt: fc.constantFrom('a', 'b', 'c'),
    response: fc.uuid(),
    step: fc.option(fc.nat(5), { nil: undefined }),
  })
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), (all) => {
      const steps = closed(all, { ...limits, groupRows: 100 })
      const out = steps.flatMap((s) => s.groups.flat()).map((r) => r.rollout.response)
      expect(out.toSorted()).toEqual(all.map((r) => r.response).toSorted())
      for (const { groups } of steps) {
        for (const g of groups) {
          const lines = g.map((r) => r.place.line)
          expect(lines).toEqual(lines.toSorted((a, b) => a - b))
          expect(new Set(g.map((r) => r.rollout.prompt)).size).toBe(1)
        }
      }
      const numbers = steps.map((s) => s.step)
      expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b))
    }),
  )
})
