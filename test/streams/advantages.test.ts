import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type AdvantageOptions, groupAdvantages, type Judged } from '../../streams/advantages.ts'

const options: AdvantageOptions = { overlong: 'score', deviation: 'population', minSpread: 1e-6 }

const member = (index: number, reward: number | undefined, truncated = false): Judged => ({
  rolloutId: `g:${index}`,
  index,
  rolloutOffset: index,
  rolloutHash: 'x',
  ...(reward === undefined ? {} : { reward }),
  responseLength: 3,
  truncated,
})
const group = (...rewards: (number | undefined)[]) => rewards.map((r, i) => member(i, r))
const fates = (o: ReturnType<typeof groupAdvantages>) => o.members.map((m) => m.fate)
const advantages = (o: ReturnType<typeof groupAdvantages>) => o.members.map((m) => m.advantage)

test('(r - mean) / deviation', () => {
  const o = groupAdvantages(group(1, 0, 0, 1), options)
  expect(o).toMatchObject({ outcome: 'kept', baseline: { mean: 0.5, deviation: 0.5 } })
  expect(advantages(o)).toEqual([1, -1, -1, 1])
  expect(fates(o)).toEqual(['trained', 'trained', 'trained', 'trained'])
})

test('sample deviation divides by n - 1, and epsilon is added to it', () => {
  const o = groupAdvantages(group(1, 3), { ...options, deviation: 'sample', epsilon: 1 })
  expect(o.baseline).toEqual({ mean: 2, deviation: Math.SQRT2 })
  expect(advantages(o)).toEqual([-1 / (Math.SQRT2 + 1), 1 / (Math.SQRT2 + 1)])
})

test('a spread within the tolerance has no signal', () => {
  const o = groupAdvantages(group(0.3, 0.3 + 1e-9, 0.3), options)
  expect(o).toMatchObject({ outcome: 'filtered', reason: 'spread' })
  expect(fates(o)).toEqual(['dropped', 'dropped', 'dropped'])
  expect(advantages(o)).toEqual([undefined, undefined, undefined])
  expect(groupAdvantages(group(0, 1e-200), { ...options, minSpread: 0 }).outcome).toBe('filtered')
})

test('an error is not a zero: the baseline is that of the survivors', () => {
  const o = groupAdvantages(group(1, undefined, 0, 1), options)
  expect(o.outcome).toBe('kept')
  expect(o.baseline.mean).toBeCloseTo(2 / 3, 15)
  expect(fates(o)).toEqual(['trained', 'error', 'trained', 'trained'])
  expect(o.members[1]).not.toHaveProperty('advantage')
})

test('fewer than two survivors: lost', () => {
  const o = groupAdvantages(group(1, undefined, undefined), options)
  expect(o).toMatchObject({
    outcome: 'lost',
    reason: 'too-few-survivors',
    baseline: { mean: 0, deviation: 0 },
  })
  expect(fates(o)).toEqual(['dropped', 'error', 'error'])
})

describe('a response that was cut off', () => {
  const cut = [member(0, 1), member(1, 0), member(2, 1, true), member(3, 0)]

  test('score: as its reward says', () => {
    const o = groupAdvantages(cut, options)
    expect(advantages(o)).toEqual([1, -1, 1, -1])
  })

  test('zero: reward 0, and it stays in the group', () => {
    const o = groupAdvantages(cut, { ...options, overlong: 'zero' })
    expect(o.baseline.mean).toBe(0.25)
    expect(o.members[2]).toMatchObject({ reward: 0, fate: 'trained' })
    expect(o.members[2]!.advantage).toBe(o.members[1]!.advantage)
  })

  test('mask: in the statistics, without weight', () => {
    const o = groupAdvantages(cut, { ...options, overlong: 'mask' })
    expect(o.baseline).toEqual({ mean: 0.5, deviation: 0.5 })
    expect(advantages(o)).toEqual([1, -1, undefined, -1])
    expect(fates(o)).toEqual(['trained', 'trained', 'skipped', 'trained'])
  })

  test('skip: neither', () => {
    const o = groupAdvantages(cut, { ...options, overlong: 'skip' })
    expect(o.baseline.mean).toBeCloseTo(1 / 3, 15)
    expect(fates(o)).toEqual(['trained', 'trained', 'skipped', 'trained'])
  })

  test.each(['skip', 'mask'] as const)('%s: a group with nobody left to train on is filtered', (overlong) => {
    const o = groupAdvantages([member(0, 1, true), member(1, 0, true)], { ...options, overlong })
    expect(o).toMatchObject({ outcome: 'filtered', reason: 'overlong' })
    expect(fates(o)).toEqual(['dropped', 'dropped'])
  })

  test('zero leaves an error an error', () => {
    const o = groupAdvantages([member(0, undefined, true), member(1, 1), member(2, 0)], {
      ...options,
      overlong: 'zero',
    })
    expect(fates(o)).toEqual(['error', 'trained', 'trained'])
  })
})

const judged = fc
  .array(
    fc.record({
      reward: fc.option(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { nil: undefined }),
      truncated: fc.boolean(),
    }),
    { minLength: 2, maxLength: 12 },
  )
  .map((ms) => ms.map((m, i) => member(i, m.reward, m.truncated)))
const anyOptions = fc.record({
  overlong: fc.constantFrom('skip', 'mask', 'zero', 'score'),
  deviation: fc.constantFrom('population', 'sample'),
  minSpread: fc.constantFrom(0, 1e-6, 1),
}) as fc.Arbitrary<AdvantageOptions>

test('depends on the members, bit for bit, and not on their order', () => {
  const shuffled = judged.chain((ms) =>
    fc.tuple(fc.constant(ms), fc.shuffledSubarray(ms, { minLength: ms.length, maxLength: ms.length })),
  )
  fc.assert(
    fc.property(shuffled, anyOptions, ([ms, other], o) => {
      expect(groupAdvantages(other, o)).toEqual(groupAdvantages(ms, o))
    }),
  )
})

test('every member has exactly one fate, errors stay errors, and only the trained have an advantage, a finite one', () => {
  fc.assert(
    fc.property(judged, anyOptions, (ms, o) => {
      const { members, outcome } = groupAdvantages(ms, o)
      expect(members.map((m) => m.index)).toEqual(ms.map((m) => m.index))
      for (const [i, m] of members.entries()) {
        expect(m.fate === 'error').toBe(ms[i]!.reward === undefined)
        expect(m.fate === 'trained').toBe(m.advantage !== undefined)
        if (m.advantage !== undefined) expect(Number.isFinite(m.advantage)).toBe(true)
      }
      expect(outcome === 'kept').toBe(members.some((m) => m.fate === 'trained'))
    }),
  )
})

test('the advantages of a whole group sum to nothing and have the deviation 1', () => {
  const rewards = fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 2, maxLength: 16 })
  fc.assert(
    fc.property(rewards, (rs) => {
      const o = groupAdvantages(group(...rs), options)
      if (o.outcome !== 'kept') return
      const a = advantages(o).map((x) => x!)
      expect(a.reduce((s, x) => s + x, 0)).toBeCloseTo(0, 9)
      expect(a.reduce((s, x) => s + x * x, 0) / a.length).toBeCloseTo(1, 9)
    }),
  )
})
