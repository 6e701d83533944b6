import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type PackedRows, packRows, type TokenRows } from '../../../src/model/train/batch.ts'

const limits = { vocab: 50, positions: 16 }

/** Rows with real tokens in one stretch, and wanted ones among all but its first. */
const rowsOf: fc.Arbitrary<TokenRows> = fc
  .record({ rows: fc.integer({ min: 1, max: 4 }), cols: fc.integer({ min: 1, max: 12 }), seed: fc.nat(1000) })
  .map(({ rows, cols, seed }) => {
    const random = (i: number) => (Math.imul(i + 1, 2_654_435_761) ^ Math.imul(seed + 7, 40_503)) >>> 4
    const size = rows * cols
    const batch = {
      rows,
      cols,
      tokens: Int32Array.from({ length: size }, (_, i) => random(i) % limits.vocab),
      valid: new Uint8Array(size),
      lossMask: new Uint8Array(size),
    }
    for (let r = 0; r < rows; r++) {
      const first = random(size + r) % cols
      const last = first + (random(size * 2 + r) % (cols - first))
      for (let c = first; c <= last; c++) {
        batch.valid[r * cols + c] = 1
        batch.lossMask[r * cols + c] = c > first ? random(c + r * 31) % 2 : 0
      }
    }
    return batch
  })

/** Groups of rows of one prompt each, in any order, padded on the left by up to 2. */
const groupsOf: fc.Arbitrary<TokenRows> = fc
  .array(
    fc.record({
      prompt: fc.array(fc.nat(limits.vocab - 1), { minLength: 1, maxLength: 7 }),
      order: fc.nat(),
      responses: fc.array(
        fc.record({
          ids: fc.array(fc.nat(limits.vocab - 1), { minLength: 1, maxLength: 6 }),
          pad: fc.nat(2),
        }),
        { minLength: 1, maxLength: 5 },
      ),
    }),
    { minLength: 1, maxLength: 4 },
  )
  .map((groups) => {
    const all = groups.flatMap(({ prompt, responses, order }) =>
      responses.map(({ ids, pad }, i) => ({ prompt, ids, pad, order: (order * (i + 3)) % 17 })),
    )
    all.sort((a, b) => a.order - b.order)
    const cols = 15
    const size = all.length * cols
    const batch = {
      rows: all.length,
      cols,
      tokens: new Int32Array(size),
      valid: new Uint8Array(size),
      lossMask: new Uint8Array(size),
    }
    for (const [r, { prompt, ids, pad }] of all.entries()) {
      const at = r * cols + pad
      batch.tokens.set([...prompt, ...ids], at)
      batch.valid.fill(1, at, at + prompt.length + ids.length)
      batch.lossMask.fill(1, at + prompt.length, at + prompt.length + ids.length)
    }
    return batch
  })

/** The tokens that the prediction at `place` depends on, in order. */
function history({ tokens, cols, rows, prompts }: PackedRows, place: number): number[] {
  const row = Math.floor(place / cols)
  const own = Array.from(tokens.slice(row * cols, place + 1))
  if (!prompts) return own
  const start = Math.floor(row / (rows / prompts.rows)) * prompts.cols
  const prompt = Array.from(prompts.tokens.slice(start, start + prompts.cols))
  return [...prompt.filter((_, i) => prompts.bias[start + i] === 0), ...own]
}

describe('packed rows', () => {
  test('ask for each wanted token once, after exactly the real tokens before it', () => {
    fc.assert(
      fc.property(fc.oneof(rowsOf, groupsOf), (batch) => {
        const packed = packRows(batch, limits)
        const wanted = Array.from(batch.lossMask.keys()).filter((i) => batch.lossMask[i])
        expect(Array.from(packed.source)).toStrictEqual(wanted)
        for (const [k, at] of wanted.entries()) {
          const row = Math.floor(at / batch.cols)
          const before = Array.from({ length: at - row * batch.cols }, (_, c) => row * batch.cols + c)
          const real = before.filter((i) => batch.valid[i]).map((i) => batch.tokens[i])
          const place = Number(packed.places[k])
          expect(history(packed, place)).toStrictEqual(real)
          if (packed.prompts) expect(Number(packed.prompts.positions[place])).toBe(real.length - 1)
          expect(Number(packed.targets[k])).toBe(batch.tokens[at])
        }
      }),
    )
  })

  test('have no position that the model lacks, and no more tokens than without sharing', () => {
    fc.assert(
      fc.property(groupsOf, (batch) => {
        const { prompts, rows, cols } = packRows(batch, limits)
        if (!prompts) return
        expect(rows * cols + prompts.rows * prompts.cols).toBeLessThan(batch.rows * 16)
        expect(prompts.positions.every((p) => p >= 0n && p < BigInt(limits.positions))).toBe(true)
      }),
    )
  })

  test('share what they begin with, as many times as a row count for all prompts needs', () => {
    const of = (rows: readonly (readonly number[])[], prompt: number): TokenRows => ({
      rows: rows.length,
      cols: 12,
      tokens: Int32Array.from(rows.flat()),
      valid: new Uint8Array(rows.length * 12).fill(1),
      lossMask: Uint8Array.from(rows.flat(), (_, i) => (i % 12 < prompt ? 0 : 1)),
    })
    const row = (start: number, end: number) =>
      Array.from({ length: 12 }, (_, i) => (i < 9 ? start + i : end + i))
    const [a, b] = [row(1, 20), row(1, 30)]
    expect(packRows(of([a, b, a, b], 9), limits)).toMatchObject({
      rows: 4,
      cols: 4,
      prompts: { rows: 1, cols: 8 },
    })
    const c = row(10, 20)
    // Four rows and two: a prompt twice. Four and three: an empty row.
    const twice = packRows(of([a, c, b, a, c, b], 9), limits)
    expect(twice).toMatchObject({ rows: 6, cols: 4, prompts: { rows: 3 } })
    const empty = packRows(of([a, c, b, a, c, b, c], 9), limits)
    expect(empty).toMatchObject({ rows: 8, cols: 4, prompts: { rows: 2 } })
    expect(packRows(of([a, c], 9), limits)).not.toHaveProperty('prompts')
    expect(packRows(of([a, a], 1), limits)).not.toHaveProperty('prompts')
  })

  test('are no wider than needed, in steps of 8, up to the positions of the model', () => {
    const batch = (last: number) => ({
      rows: 2,
      cols: 17,
      tokens: new Int32Array(34),
      valid: new Uint8Array(34).fill(1),
      lossMask: Uint8Array.from({ length: 34 }, (_, i) => (i === last ? 1 : 0)),
    })
    expect(packRows(batch(5), limits)).toMatchObject({ rows: 1, cols: 8 })
    expect(packRows(batch(9), limits)).toMatchObject({ rows: 1, cols: 16 })
    expect(packRows(batch(16), { ...limits, positions: 18 })).toMatchObject({ cols: 16 })
    expect(packRows(batch(16), { ...limits, positions: 16 })).toMatchObject({ cols: 16 })
    expect(() => packRows(batch(16), { ...limits, positions: 15 })).toThrow(
      'micro-batch: row length: expected at most 15 positions, got 16',
    )
  })

  const one = { rows: 1, cols: 3, tokens: Int32Array.of(1, 2, 3) }
  test.each([
    [
      { ...one, valid: Uint8Array.of(1, 1, 1), lossMask: Uint8Array.of(1, 0, 0) },
      'the first token is not predicted from any',
    ],
    [
      { ...one, valid: Uint8Array.of(1, 1, 0), lossMask: Uint8Array.of(0, 0, 1) },
      'lossMask in row 0, column 2: expected a real token, got padding',
    ],
    [
      { ...one, valid: Uint8Array.of(1, 1), lossMask: Uint8Array.of(0, 0, 1) },
      'valid: expected 3 entries, got 2',
    ],
    [
      {
        ...one,
        tokens: Int32Array.of(1, 50, 3),
        valid: new Uint8Array(3).fill(1),
        lossMask: new Uint8Array(3),
      },
      'token id in row 0: expected 0 to 49, got 50',
    ],
  ])('are refused where they make no sense', (batch, message) => {
    expect(() => packRows(batch, limits)).toThrow(
      expect.objectContaining({ code: 'RECORD_INVALID', message: expect.stringContaining(message) }),
    )
  })
})
