import { expect, test } from 'vitest'
import { batchClosedOf, closeStep } from '../../streams/close-step.ts'
import type { OutcomeFact } from '../../streams/coordinator-state.ts'
import { rlStage } from './stages.ts'

const fact = (admission: number, outcome: OutcomeFact['outcome'], reward = 1): OutcomeFact => ({
  admission,
  outcome,
  groupId: `g${admission}`,
  offset: 10 + admission,
  hash: `h${admission}`,
  sums: { members: 2, reward, responseLength: 8, truncated: 1 },
})

const stage = rlStage({ prompts: 2, minGroups: 2 })
const from = { version: 5, opens: true }

test('the first kept groups by admission, in whatever order they finished; what is left over is counted', () => {
  const known = [fact(3, 'kept'), fact(0, 'filtered', 0), fact(2, 'kept'), fact(4, 'lost'), fact(1, 'kept')]
  const step = closeStep(known, stage, from)
  expect(step).toMatchObject({ baseVersion: 5, version: 6, opens: true })
  expect(step.groups.map((g) => g.admission)).toEqual([1, 2])
  expect(step.counts).toEqual({ admitted: 5, kept: 3, filtered: 1, lost: 1 })
  expect(step.stats).toEqual({ reward: 0.4, responseLength: 4, truncated: 0.5 })
  expect(batchClosedOf({ ...step, stage, step: 7 })).toMatchObject({
    type: 'batch-closed',
    stage: stage.name,
    step: 7,
    groups: [
      { groupId: 'g1', admission: 1, outcomeOffset: 11, hash: 'h1' },
      { groupId: 'g2', admission: 2, outcomeOffset: 12, hash: 'h2' },
    ],
  })
})

test('too few close it without an update, which does not open the stage', () => {
  const step = closeStep([fact(0, 'kept'), fact(1, 'filtered')], stage, from)
  expect(step).toMatchObject({ baseVersion: 5, version: 5, opens: false, groups: [] })
  expect(step.reason).toBe('1 kept groups of at least 2')
  expect(closeStep([], stage, from).stats).toEqual({})
})
