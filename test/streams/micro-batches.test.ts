import fc from 'fast-check'
import { expect, test } from 'vitest'
import { microBatches, type Row } from '../../streams/micro-batches.ts'
import type { MicroBatchRecord } from '../../topics/index.ts'

/** A row that can be told from every other: its tokens and mask are drawn, its weight is its number. */
const rowsOf = (old: boolean) =>
  fc
    .array(
      fc.record({
        // The short ones are few, so that rows share them.
        prompt: fc.oneof(
          fc.array(fc.nat(500), { minLength: 1, maxLength: 9 }),
          fc.array(fc.nat(1), { minLength: 1, maxLength: 2 }),
        ),
        response: fc.array(fc.nat(500), { maxLength: 20 }),
        seed: fc.nat(),
      }),
      { minLength: 1, maxLength: 30 },
    )
    .map((drawn) =>
      drawn.map(
        ({ prompt, response, seed }, i): Row => ({
          prompt: Int32Array.from(prompt),
          response: Int32Array.from(response),
          lossMask: Uint8Array.from(response, (_, t) => (seed >> (t % 20)) & 1),
          weight: i + 1,
          ...(old ? { oldLogprobs: Float32Array.from(response, (t) => -t / 8) } : {}),
        }),
      ),
    )

const plan = fc.record({ maxTokens: fc.integer({ min: 1, max: 200 }), align: fc.constantFrom(1, 4, 8) })

/** The rows that a rectangle holds, read back as a trainer would. */
function unpack(b: MicroBatchRecord): Row[] {
  return Array.from({ length: b.rows }, (_, r) => {
    const at = r * b.cols
    const end = at + b.lengths[r]!
    const part = <A extends Int32Array | Uint8Array | Float32Array>(a: A) => a.slice(at, end)
    return {
      prompt: part(b.tokens) as Int32Array,
      response: new Int32Array(),
      lossMask: part(b.lossMask) as Uint8Array,
      weight: b.rowWeights[r]!,
      ...(b.oldLogprobs ? { oldLogprobs: part(b.oldLogprobs) as Float32Array } : {}),
    }
  })
}

/** The same shape from the rows that went in. */
function whole(row: Row): Row {
  const { prompt, response, lossMask, weight, oldLogprobs } = row
  return {
    prompt: Int32Array.of(...prompt, ...response),
    response: new Int32Array(),
    lossMask: Uint8Array.of(...new Uint8Array(prompt.length), ...lossMask),
    weight,
    ...(oldLogprobs
      ? { oldLogprobs: Float32Array.of(...new Float32Array(prompt.length), ...oldLogprobs) }
      : {}),
  }
}

test.each([false, true])(
  'no row is lost, doubled or altered, whatever the plan (old log-probabilities: %s)',
  (old) => {
    fc.assert(
      fc.property(rowsOf(old), plan, (rows, p) => {
        const back = microBatches(rows, p)
          .flatMap(unpack)
          .sort((a, b) => a.weight - b.weight)
        expect(back).toEqual(rows.map(whole))
      }),
    )
  },
)

test('a rectangle keeps to the token limit unless it is one row, is aligned, and pads with zeros', () => {
  fc.assert(
    fc.property(rowsOf(true), plan, (rows, p) => {
      for (const b of microBatches(rows, p)) {
        expect(b.rows === 1 || b.rows * b.cols <= p.maxTokens).toBe(true)
        expect(b.cols === 2 || b.cols % p.align === 0).toBe(true)
        const longest = Math.max(...b.lengths)
        expect(b.cols).toBeGreaterThanOrEqual(longest)
        expect(b.cols).toBeLessThan(Math.max(3, longest + p.align))
        for (const a of [b.tokens, b.lossMask, b.oldLogprobs!]) {
          expect(a.length).toBe(b.rows * b.cols)
          for (let r = 0; r < b.rows; r++) {
            expect(a.slice(r * b.cols + b.lengths[r]!, (r + 1) * b.cols).every((x) => x === 0)).toBe(true)
          }
        }
      }
    }),
  )
})

test('longest first, and one order for one set of rows', () => {
  const row = (length: number, weight: number): Row => ({
    prompt: Int32Array.of(1),
    response: new Int32Array(length - 1),
    lossMask: new Uint8Array(length - 1),
    weight,
  })
  const got = microBatches([row(3, 1), row(8, 2), row(3, 3), row(5, 4)], { maxTokens: 16, align: 4 })
  expect(got.map((b) => [b.rows, b.cols, [...b.rowWeights]])).toEqual([
    [2, 8, [2, 4]],
    [2, 4, [1, 3]],
  ])
})

test('rows of one prompt stay together where they fit', () => {
  const row = (prompt: number, size: number, weight: number): Row => ({
    prompt: Int32Array.of(prompt),
    response: new Int32Array(size - 1),
    lossMask: new Uint8Array(size - 1),
    weight,
  })
  const rows = [row(1, 4, 1), row(2, 3, 2), row(1, 2, 3), row(2, 4, 4), row(3, 2, 5), row(1, 4, 6)]
  const weights = (maxTokens: number) =>
    microBatches(rows, { maxTokens, align: 1 }).map((b) => [...b.rowWeights])
  expect(weights(16)).toEqual([
    [1, 6, 3],
    [4, 2, 5],
  ])
  expect(weights(8)).toEqual([[1, 6], [3], [4, 2], [5]])
  expect(weights(24)).toEqual([[1, 6, 3, 4, 2, 5]])
})

test('old log-probabilities are there for all rows or for none', () => {
  const row = { prompt: Int32Array.of(1), response: Int32Array.of(2), lossMask: Uint8Array.of(1), weight: 1 }
  const [batch] = microBatches([row, { ...row, oldLogprobs: Float32Array.of(-1) }], {
    maxTokens: 64,
    align: 1,
  })
  expect(batch).not.toHaveProperty('oldLogprobs')
})

test('nothing makes nothing', () => {
  expect(microBatches([], { maxTokens: 64, align: 8 })).toEqual([])
})
