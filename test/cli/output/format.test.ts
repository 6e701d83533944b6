import fc from 'fast-check'
import { expect, test } from 'vitest'
import { byteSize, clockTime, percent, points, range, rounded } from '../../../src/cli/output/format.ts'
import { buckets, spark } from '../../../src/cli/output/spark.ts'
import { cut, styleOf, wantsColor, width } from '../../../src/cli/output/style.ts'
import { table } from '../../../src/cli/output/table.ts'
import { MemoryOutput } from '../memory-output.ts'

test('times', () => {
  expect([0, 7400, 760_000, 10_931_000, undefined, Number.NaN].map(clockTime)).toEqual([
    '0:00',
    '0:07',
    '12:40',
    '3:02:11',
    '–',
    '–',
  ])
})

test('shares and points', () => {
  expect([0, 0.6333, 1, null].map(percent)).toEqual(['0.0 %', '63.3 %', '100.0 %', '–'])
  expect([0.2231, -0.05, 0.0001, -0.0001].map(points)).toEqual(['+22.3', '−5.0', '±0.0', '±0.0'])
  expect(range([0.5719, 0.69])).toBe('57.2–69.0')
})

test('numbers and bytes', () => {
  expect([0, 0.1234, 3.14159, 42.42, 987.6, 9999, 12_345, 1_234_567, 0.0001, undefined].map(rounded)).toEqual(
    ['0', '0.123', '3.14', '42.4', '988', '9999', '12.3k', '1.23M', '1.0e-4', '–'],
  )
  expect([0, 1023, 1536, 64 * 1024 ** 3].map(byteSize)).toEqual(['0 B', '1023 B', '1.5 KiB', '64.0 GiB'])
})

test('a table is as wide as its widest cells, whatever their style', () => {
  const style = styleOf(true)
  const lines = table(
    [{ title: 'a' }, { title: 'n', align: 'right' }],
    [
      ['x', style('red', '10')],
      ['long', '7'],
    ],
  )
  expect(lines.map(width)).toEqual([8, 8, 8])
  expect(lines[2]).toBe('long   7')
})

test('a spark line shows lowest and highest', () => {
  expect(spark([0, 1, 2, 3, 4, 5, 6, 7], 8)).toBe('▁▂▃▄▅▆▇█')
  expect(spark([0, 0, 7, 7], 2)).toBe('▁█')
  expect(spark([3, 3, 3], 10)).toBe('▁▁▁')
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { minLength: 1 }),
      fc.integer({ min: 1, max: 50 }),
      (values, n) => {
        expect(width(spark(values, n))).toBe(Math.min(n, values.length))
        const mean = buckets(values, values.length)
        expect(mean).toEqual(values.map((v) => v + 0))
      },
    ),
  )
})

test('cutting keeps the width', () => {
  expect(cut('abcdef', 4)).toBe('abc…')
  expect(cut('abc', 3)).toBe('abc')
})

test('colour only where a terminal wants it', () => {
  const tty = new MemoryOutput({ isTTY: true })
  expect(wantsColor(tty, {})).toBe(true)
  expect(wantsColor(tty, { NO_COLOR: '1' })).toBe(false)
  expect(wantsColor(tty, { TERM: 'dumb' })).toBe(false)
  expect(wantsColor(new MemoryOutput(), {})).toBe(false)
  expect(wantsColor(new MemoryOutput(), { FORCE_COLOR: '1' })).toBe(true)
})
