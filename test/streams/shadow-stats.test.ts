import { expect, test } from 'vitest'
import { ShadowStats } from '../../streams/shadow-stats.ts'
import { shadow } from './shadow-records.ts'

function statsOf(groups: readonly (readonly [active: number, candidate: number | 'error'][])[]): ShadowStats {
  const stats = new ShadowStats()
  for (const [g, pairs] of groups.entries()) {
    for (const [i, [active, candidate]] of pairs.entries()) {
      stats.add(shadow({ groupId: `g${g}`, groupSize: pairs.length, index: i }, active, candidate))
    }
  }
  return stats
}

test('versions that agree', () => {
  const s = statsOf([
    [
      [1, 1],
      [0, 0],
    ],
    [
      [1, 1],
      [1, 1],
    ],
  ]).summary()
  expect(s).toMatchObject({
    judged: 4,
    paired: 4,
    errors: 0,
    up: 0,
    down: 0,
    activeMean: 0.75,
    candidateMean: 0.75,
  })
  expect(s.difference).toEqual({ mean: 0, halfWidth: 0, groups: 2 })
  expect(s.advantages).toEqual({ groups: 2, changed: 0, meanMove: 0 })
})

test('flips each way, the difference of the groups, and the advantages that move', () => {
  // Differences of the groups: -1/2 and +1. Advantages of the first: (1, -1) to (0, 0); of the second none on either side.
  const s = statsOf([
    [
      [1, 0],
      [0, 0],
    ],
    [
      [0, 1],
      [0, 1],
    ],
  ]).summary()
  expect(s).toMatchObject({ up: 2, down: 1, activeMean: 0.25, candidateMean: 0.5 })
  expect(s.difference.mean).toBeCloseTo(0.25)
  // Standard deviation 1.5 / sqrt(2) of two groups.
  expect(s.difference.halfWidth).toBeCloseTo((1.96 * 1.5) / Math.sqrt(2) / Math.sqrt(2))
  expect(s.advantages.changed).toBe(1)
  expect(s.advantages.meanMove).toBeCloseTo(0.5)
})

test('an error is no flip and no score, and its group is left out', () => {
  const stats = statsOf([
    [
      [1, 'error'],
      [0, 0],
    ],
    [
      [1, 1],
      [0, 0],
    ],
  ])
  expect(stats.errorShare).toBe(0.25)
  expect(stats.flipShare).toBe(0)
  expect(stats.summary()).toMatchObject({ judged: 4, paired: 3, errors: 1 })
  expect(stats.summary().difference.groups).toBe(1)
})
