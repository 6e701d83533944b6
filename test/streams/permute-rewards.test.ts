import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { permuteRewards } from '../../streams/permute-rewards.ts'
import type { GroupOutcome, RlStage } from '../../topics/index.ts'
import { outcomeOf, rlStage } from './stages.ts'

const stage = rlStage({ groupSize: 4 })

const step = fc.array(
  fc.tuple(
    fc.array(fc.option(fc.constantFrom(0, 0.5, 1), { nil: undefined, freq: 8 }), {
      minLength: 4,
      maxLength: 4,
    }),
    fc.subarray([0, 1, 2, 3]),
  ),
  { minLength: 1, maxLength: 6 },
)
const kept = (drawn: typeof step extends fc.Arbitrary<infer D> ? D : never, of: RlStage) =>
  drawn
    .map(([rewards, truncated], admission) => outcomeOf(of, { admission }, rewards, truncated))
    .filter((o) => o.outcome === 'kept')

const rewardsOf = (outcomes: readonly GroupOutcome[]) =>
  outcomes.flatMap((o) => o.members.flatMap((m) => m.reward ?? []))
const without = (outcomes: readonly GroupOutcome[]) =>
  outcomes.map(({ outcome: _o, reason: _r, baseline: _b, members, ...rest }) => ({
    ...rest,
    members: members.map(({ reward: _w, advantage: _a, fate: _f, ...m }) => m),
  }))

describe.each(['score', 'zero', 'mask', 'skip'] as const)('overlong %s', (overlong) => {
  const of = rlStage({ groupSize: 4, overlong })

  test('rewards change hands as a whole; members, lengths and hashes stay', () => {
    fc.assert(
      fc.property(step, fc.string(), (drawn, seed) => {
        const outcomes = kept(drawn, of)
        const dealt = permuteRewards(outcomes, of, seed)
        expect(rewardsOf(dealt).sort()).toEqual(rewardsOf(outcomes).sort())
        expect(without(dealt)).toEqual(without(outcomes))
        for (const [i, o] of dealt.entries()) {
          for (const [j, m] of o.members.entries()) {
            expect(m.fate === 'error').toBe(outcomes[i]!.members[j]!.reward === undefined)
            expect(m.fate === 'trained').toBe(m.advantage !== undefined)
          }
        }
      }),
    )
  })

  test('advantages are normalised afresh: mean 0 and deviation 1 in each group that is kept', () => {
    fc.assert(
      fc.property(step, fc.string(), (drawn, seed) => {
        const outcomes = kept(drawn, of)
        const dealt = permuteRewards(outcomes, of, seed)
        if (outcomes.length > 0) expect(dealt.some((o) => o.outcome === 'kept')).toBe(true)
        for (const o of dealt) {
          if (o.outcome !== 'kept') continue
          const counted = o.members.filter(
            (m) => m.reward !== undefined && !(overlong === 'skip' && m.truncated),
          )
          const { mean, deviation } = o.baseline
          expect(counted.reduce((s, m) => s + m.reward!, 0) / counted.length).toBeCloseTo(mean, 12)
          expect(counted.reduce((s, m) => s + (m.reward! - mean) ** 2, 0) / counted.length).toBeCloseTo(
            deviation ** 2,
            12,
          )
          for (const m of o.members) {
            if (m.fate === 'trained') expect(m.advantage! * deviation + mean).toBeCloseTo(m.reward!, 12)
          }
        }
      }),
    )
  })
})

test('the same seed deals the same, another one differently', () => {
  const outcomes = [0, 1, 2, 3].map((admission) =>
    outcomeOf(stage, { admission }, [0, 0.25, 0.5, admission + 1]),
  )
  expect(permuteRewards(outcomes, stage, '7/math/1')).toEqual(permuteRewards(outcomes, stage, '7/math/1'))
  expect(permuteRewards(outcomes, stage, '7/math/1')).not.toEqual(permuteRewards(outcomes, stage, '7/math/2'))
})

test('across prompts, evenly: over many seeds every member comes to the mean of all, good prompt or bad', () => {
  const outcomes = [
    outcomeOf(stage, { admission: 0 }, [1, 1, 1, 0]),
    outcomeOf(stage, { admission: 1 }, [0, 0, 0, 1]),
  ]
  const deals = 2000
  const sums = new Float64Array(8)
  for (let seed = 0; seed < deals; seed++) {
    for (const [i, r] of rewardsOf(permuteRewards(outcomes, stage, String(seed))).entries()) sums[i]! += r
  }
  // Five standard errors of a mean of 2,000 draws of one half.
  for (const sum of sums) expect(Math.abs(sum / deals - 0.5)).toBeLessThan(5 * Math.sqrt(0.25 / deals))
})

test.each([
  // Two rewards of 1 among four members: in one group both or in each one; the former is dealt again.
  [2, ['kept,kept']],
  [3, ['filtered,filtered,kept', 'filtered,kept,filtered', 'kept,filtered,filtered', 'kept,kept,kept']],
])(
  'a group dealt equal rewards has no signal and is left out, never all %i of a step',
  (groups, expected) => {
    const pairs = rlStage()
    const outcomes = Array.from({ length: groups }, (_, admission) => outcomeOf(pairs, { admission }, [0, 1]))
    const seen = new Set<string>()
    for (let seed = 0; seed < 60; seed++) {
      const dealt = permuteRewards(outcomes, pairs, String(seed))
      seen.add(dealt.map((o) => o.outcome).join())
      for (const o of dealt) {
        for (const m of o.members) expect(m.fate).toBe(o.outcome === 'kept' ? 'trained' : 'dropped')
      }
    }
    expect([...seen].sort()).toEqual(expected)
  },
)
