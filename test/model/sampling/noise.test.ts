import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { noise, philox4x32 } from '../../../src/model/sampling/noise.ts'

const hex = (words: readonly number[]) => words.map((w) => w.toString(16).padStart(8, '0')).join(' ')

describe('Philox4x32-10', () => {
  // Known answers of Random123's kat_vectors.
  test.each([
    [[0, 0, 0, 0], [0, 0], '6627e8d5 e169c58d bc57ac4c 9b00dbd8'],
    [Array(4).fill(0xffffffff), Array(2).fill(0xffffffff), '408f276d 41c83b0e a20bc7c6 6d5451fd'],
    [
      [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
      [0xa4093822, 0x299f31d0],
      'd16cfe09 94fdcceb 5001e420 24126ea1',
    ],
  ])('gives the published answers', (counter, key, expected) => {
    expect(hex(philox4x32(counter as number[], key as number[]))).toBe(expected)
  })
})

describe('noise', () => {
  const seed = fc.record({ run: fc.maxSafeNat(), stage: fc.string(), admission: fc.maxSafeNat() })
  const place = fc.tuple(fc.nat(1023), fc.nat(4095))

  test('is a pure function of run, stage, admission, sample and position, whatever was drawn before', () => {
    fc.assert(
      fc.property(seed, fc.array(place), place, (s, before, [sample, position]) => {
        const used = noise(s)
        for (const [a, b] of before) used(a, b)
        expect(used(sample, position)).toBe(noise({ ...s })(sample, position))
      }),
    )
  })

  test('is above 0 and below 1 in float32 too', () => {
    fc.assert(
      fc.property(seed, place, (s, [sample, position]) => {
        const u = noise(s)(sample, position)
        expect(Math.fround(u)).toBe(u)
        expect(u).toBeGreaterThan(0)
        expect(u).toBeLessThan(1)
      }),
    )
  })

  test('changes with each of them', () => {
    const base = { run: 1, stage: 'math', admission: 3 }
    const draws = (s: typeof base, sample = 0) => Array.from({ length: 8 }, (_, p) => noise(s)(sample, p))
    const all = [
      draws(base),
      draws(base, 1),
      draws({ ...base, run: 2 }),
      draws({ ...base, run: 1 + 2 ** 32 }),
      draws({ ...base, stage: 'mat' }),
      draws({ ...base, stage: 'htam' }),
      draws({ ...base, admission: 4 }),
      draws({ ...base, admission: 3 + 2 ** 32 }),
    ].flat()
    expect(new Set(all).size).toBe(all.length)
  })

  test('is uniform over samples, positions and admissions (chi-square, 64 bins)', () => {
    const n = 64_000
    const along = {
      position: (i: number) => noise({ run: 5, stage: 's', admission: 0 })(0, i),
      sample: (i: number) => noise({ run: 5, stage: 's', admission: 0 })(i, 0),
      admission: (i: number) => noise({ run: 5, stage: 's', admission: i })(0, 0),
    }
    for (const draw of Object.values(along)) {
      const bins = new Float64Array(64)
      for (let i = 0; i < n; i++) bins[Math.floor(draw(i) * 64)]! += 1
      const chi = bins.reduce((sum, b) => sum + (b - n / 64) ** 2 / (n / 64), 0)
      // 63 degrees of freedom: exceeded with probability 0.001.
      expect(chi).toBeLessThan(103.4)
    }
  })
})
