import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { packRows, type TokenRows } from '../../../src/model/train/batch.ts'

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

describe('packed rows', () => {
  test('ask for each wanted token once, after exactly the real tokens before it', () => {
    fc.assert(
      fc.property(rowsOf, (batch) => {
        const packed = packRows(batch, limits)
        const wanted = Array.from(batch.lossMask.keys()).filter((i) => batch.lossMask[i])
        expect(Array.from(packed.source)).toStrictEqual(wanted)
        for (const [k, at] of wanted.entries()) {
          const row = Math.floor(at / batch.cols)
          const before = Array.from({ length: at - row * batch.cols }, (_, c) => row * batch.cols + c)
          const history = before.filter((i) => batch.valid[i]).map((i) => batch.tokens[i])
          const place = Number(packed.places[k])
          const start = Math.floor(place / packed.cols) * packed.cols
          expect(Array.from(packed.tokens.slice(start, place + 1))).toStrictEqual(history)
          expect(Number(packed.targets[k])).toBe(batch.tokens[at])
        }
      }),
    )
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
