import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { hash, random } from '../../src/tasks/random.ts'
import { shuffled } from '../../src/tasks/shuffle.ts'

/** Pearson's statistic against equal shares. */
function chiSquare(counts: readonly number[]): number {
  const expected = counts.reduce((a, b) => a + b, 0) / counts.length
  return counts.reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0)
}

function tally(n: number, classes: number, draw: (i: number) => number): number[] {
  const counts = new Array<number>(classes).fill(0)
  for (let i = 0; i < n; i++) counts[draw(i)]! += 1
  return counts
}

describe('hash', () => {
  it('depends on every key, on their order, their kind and where one ends', () => {
    const keys = [['a', 1], [1, 'a'], ['a', '1'], ['a1'], ['a', 1, 0], ['', 'a', 1], [2 ** 32, 'a'], [0, 'a']]
    const hashes = keys.map((k) => hash(...k))
    expect(new Set(hashes).size).toBe(keys.length)
  })

  it('tells any two lists of keys apart, but for chance', () => {
    const key = fc.oneof(fc.string({ maxLength: 6 }), fc.nat())
    fc.assert(
      fc.property(fc.array(key, { maxLength: 4 }), fc.array(key, { maxLength: 4 }), (a, b) => {
        if (JSON.stringify(a) === JSON.stringify(b)) expect(hash(...a)).toBe(hash(...b))
        else expect(hash(...a)).not.toBe(hash(...b))
      }),
    )
  })

  it.each([[-1], [1.5], [Number.NaN], [2 ** 53]])('refuses %d as a key', (key) => {
    expect(() => hash('a', key)).toThrow(`expected a whole number from 0 on as a key, got ${key}`)
  })

  it('keeps the values that runs were drawn with', () => {
    expect(hash('math', 'train', 1, 0)).toBe(3428717370)
    const r = random('math', 'train', 1, 0)
    expect([r.bits(), r.bits(), r.below(100)]).toEqual([3220333168, 717429130, 24])
  })
})

// Critical values of chi-square at 1 in 10^6; the draws are fixed, so a test passes always or never.
describe('random', () => {
  it('draws the same again for the same keys', () => {
    const draws = () => {
      const r = random('x', 3)
      return Array.from({ length: 100 }, () => r.bits())
    }
    expect(draws()).toEqual(draws())
  })

  it('spreads one stream evenly over 64 classes', () => {
    const r = random('even')
    expect(chiSquare(tally(64_000, 64, () => r.below(64)))).toBeLessThan(131)
  })

  it('spreads the first draws of neighbouring keys evenly, and the pairs of first and second', () => {
    expect(chiSquare(tally(64_000, 64, (i) => random('k', i).below(64)))).toBeLessThan(131)
    const pair = (i: number) => {
      const r = random('k', i)
      return r.below(8) * 8 + r.below(8)
    }
    expect(chiSquare(tally(64_000, 64, pair))).toBeLessThan(131)
  })

  it('draws a unit below 1 and integers in range', () => {
    const r = random('range')
    for (let i = 0; i < 10_000; i++) {
      const u = r.unit()
      expect(u >= 0 && u < 1).toBe(true)
      expect(r.below(3)).toBeLessThan(3)
    }
  })

  it('has nothing to pick from an empty list', () => {
    expect(() => random('x').pick([])).toThrow('got an empty one')
  })
})

describe('shuffled', () => {
  it('is a permutation, the same for the same keys and another for others', () => {
    fc.assert(
      fc.property(fc.nat(300), fc.nat(), (n, key) => {
        const order = shuffled(n, key)
        expect(Array.from(order).sort((a, b) => a - b)).toEqual(Array.from({ length: n }, (_, i) => i))
        expect(shuffled(n, key)).toEqual(order)
        if (n >= 20) expect(shuffled(n, key, 'other')).not.toEqual(order)
      }),
    )
  })

  it('gives all 24 orders of 4 equally often', () => {
    const orders = new Map<string, number>()
    for (let i = 0; i < 24_000; i++) {
      const order = shuffled(4, 'seed', i).join('')
      orders.set(order, (orders.get(order) ?? 0) + 1)
    }
    expect(orders.size).toBe(24)
    expect(chiSquare([...orders.values()])).toBeLessThan(70)
  })

  it('moves every element to every place equally often', () => {
    const n = 16
    const counts = new Array<number>(n * n).fill(0)
    for (let i = 0; i < 8000; i++)
      shuffled(n, i).forEach((value, place) => {
        counts[value * n + place]! += 1
      })
    expect(chiSquare(counts)).toBeLessThan(345)
  })
})
