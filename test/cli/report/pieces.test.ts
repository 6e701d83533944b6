import fc from 'fast-check'
import { expect, test } from 'vitest'
import { escapeHtml } from '../../../src/cli/report/html.ts'
import { movingMean } from '../../../src/cli/report/summary.ts'
import { lineChart, niceTicks } from '../../../src/cli/report/svg.ts'

test('ticks are round, cover the values and are few', () => {
  fc.assert(
    fc.property(
      fc.double({ min: -1e6, max: 1e6, noNaN: true }),
      fc.double({ min: 1e-4, max: 1e6, noNaN: true }),
      (low, span) => {
        const ticks = niceTicks(low, low + span, 4)
        const step = ticks[1]! - ticks[0]!
        expect(ticks[0]!).toBeLessThanOrEqual(low + 1e-6 * step)
        expect(ticks.at(-1)!).toBeGreaterThanOrEqual(low + span - 1e-6 * step)
        expect(ticks.length).toBeLessThanOrEqual(7)
      },
    ),
  )
  expect(niceTicks(0, 1, 4)).toEqual([0, 0.25, 0.5, 0.75, 1])
})

test('a chart of any curve has finite coordinates inside its box', () => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -1e9, max: 1e9, noNaN: true }), { minLength: 1, maxLength: 900 }),
      (ys) => {
        const svg = lineChart({ title: 't', points: ys.map((y, i) => ({ x: i + 1, y })) })
        expect(svg).not.toMatch(/NaN|Infinity|undefined/)
        for (const [, x, y] of svg.matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)) {
          expect(Number(x)).toBeGreaterThanOrEqual(0)
          expect(Number(x)).toBeLessThanOrEqual(260)
          expect(Number(y)).toBeGreaterThanOrEqual(0)
          expect(Number(y)).toBeLessThanOrEqual(170)
        }
      },
    ),
    { numRuns: 50, examples: [[[999_999_999.9995, 999_999_999.999_540_1]], [[0, 5e-324]]] },
  )
})

test('a moving mean', () => {
  expect(movingMean([1, 2, 3, 4], 3)).toEqual([1.5, 2, 3, 3.5])
})

test('text in the page is text', () => {
  expect(escapeHtml('<b a="1">&')).toBe('&lt;b a=&quot;1&quot;&gt;&amp;')
})
