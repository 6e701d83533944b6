import { expect, test } from 'vitest'
import { digestOf, Lineage, type PlannedStep, plannedStep } from '../../../../src/cli/replay/train/lineage.ts'
import type { BatchClosed } from '../../../../topics/index.ts'

/** A closed step of the groups named; an update where `version` is the next. */
function closed(step: number, baseVersion: number, version: number, ...groups: string[]): BatchClosed {
  return {
    type: 'batch-closed',
    epoch: 1,
    seq: step,
    stage: 'math',
    step,
    baseVersion,
    version,
    opens: step === 1,
    groups: groups.map((groupId, admission) => ({ groupId, admission, outcomeOffset: 0, hash: groupId })),
    counts: { admitted: 2, kept: 2, filtered: 0, lost: 0 },
  }
}

const planned = (...of: Parameters<typeof closed>): PlannedStep => plannedStep(closed(...of))

test('while every step closes as it was closed, the weights are those that sampled', () => {
  const lineage = new Lineage(4, true)
  for (const [step, from] of [
    [1, 4],
    [2, 5],
    [3, 6],
  ] as const) {
    expect(lineage.staleness(from)).toBe(0)
    lineage.closed(planned(step, from, from + 1, 'a', 'b'), closed(step, from, from + 1, 'a', 'b'))
  }
  expect(lineage.staleness(7)).toBe(0)
})

test.each([
  ['other rewards', [closed(1, 4, 5, 'a', 'x')]],
  ['another order', [closed(1, 4, 5, 'b', 'a')]],
  ['one group fewer', [closed(1, 4, 5, 'a')]],
] as const)('from %s on each update takes it one further away', (_, [now]) => {
  const lineage = new Lineage(4, true)
  lineage.closed(planned(1, 4, 5, 'a', 'b'), now)
  expect(lineage.staleness(5)).toBe(1)
  // Equal groups do not bring it back: other weights are updated.
  lineage.closed(planned(2, 5, 6, 'c'), closed(2, 5, 6, 'c'))
  expect(lineage.staleness(6)).toBe(2)
})

test('an update that the run had and the training has not counts, and the other way round', () => {
  const lost = new Lineage(4, true)
  lost.closed(planned(1, 4, 5, 'a'), closed(1, 4, 4))
  expect(lost.staleness(5)).toBe(1)
  const won = new Lineage(4, true)
  won.closed(planned(1, 4, 4), closed(1, 4, 5, 'a'))
  expect(won.staleness(4)).toBe(1)
  const neither = new Lineage(4, true)
  neither.closed(planned(1, 4, 4), closed(1, 4, 4))
  expect(neither.staleness(4)).toBe(0)
})

test('another start is as far away as its version, and another machine from its first update on', () => {
  const later = new Lineage(9, false)
  expect(later.staleness(4)).toBe(5)
  later.closed(planned(1, 4, 5, 'a'), closed(1, 9, 10, 'a'))
  expect(later.staleness(5)).toBe(5)
  const inexact = new Lineage(4, false)
  expect(inexact.staleness(4)).toBe(0)
  inexact.closed(planned(1, 4, 5, 'a'), closed(1, 4, 5, 'a'))
  expect(inexact.staleness(5)).toBe(1)
})

test('the digest tells apart groups, rewards and order', () => {
  const all = [closed(1, 4, 5, 'a', 'b'), closed(1, 4, 5, 'b', 'a'), closed(1, 4, 5, 'a'), closed(1, 4, 5)]
  expect(new Set(all.map(digestOf)).size).toBe(all.length)
  expect(digestOf(closed(7, 8, 9, 'a', 'b'))).toBe(digestOf(all[0]!))
})
