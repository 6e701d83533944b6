import { expect, test } from 'vitest'
import { ErrorBudget } from '../../streams/error-budget.ts'
import { outcomeOf, rlStage } from './stages.ts'

const stage = rlStage({ prompts: 2, groupSize: 4, maxErrorShare: 0.25 })
const lost = undefined
const good = [1, 0, 1, 0]

/** Feeds groups to one budget; says at which it was exceeded. */
function exceededAt(groups: readonly (readonly [step: number, rewards: readonly (number | undefined)[]])[]) {
  const budget = new ErrorBudget()
  return groups.flatMap(([step, rewards], admission) =>
    budget.exceeded(outcomeOf(stage, { step, admission }, rewards), stage) ? [admission] : [],
  )
}

test('errors up to the share are borne', () => {
  expect(
    exceededAt([
      [1, good],
      [1, [lost, lost, 1, 0]],
    ]),
  ).toEqual([])
})

test('one more is too many', () => {
  expect(
    exceededAt([
      [1, [lost, 1, 0, 1]],
      [1, [lost, lost, 1, 0]],
    ]),
  ).toEqual([1])
})

test('nothing is judged before a whole step’s worth is there', () => {
  expect(exceededAt([[1, [lost, lost, lost, lost]]])).toEqual([])
  expect(
    exceededAt([
      [1, [lost, lost, lost, lost]],
      [1, good],
    ]),
  ).toEqual([1])
})

test('replacements dilute what they replace', () => {
  expect(
    exceededAt([
      [1, [lost, lost, lost, 1]],
      [1, good],
      [1, good],
    ]),
  ).toEqual([1])
  expect(
    exceededAt([
      [1, [lost, lost, 1, 1]],
      [1, good],
      [1, [lost, lost, 1, 1]],
    ]),
  ).toEqual([2])
})

test('a verifier that breaks late is noticed within a step, however long it was sound', () => {
  const sound = Array.from({ length: 200 }, (_, i) => [1 + Math.floor(i / 2), good] as const)
  const broken = [lost, lost, lost, lost]
  expect(exceededAt([...sound, [101, broken], [101, broken]])).toEqual([201])
})

test('a reward of 0 is no error', () => {
  expect(
    exceededAt([
      [1, [0, 0, 0, 0]],
      [1, [0, 0, 0, 0]],
    ]),
  ).toEqual([])
})

test('the error names stage, step, numbers and both places where the reasons are', () => {
  const budget = new ErrorBudget()
  budget.exceeded(outcomeOf(stage, { step: 7, admission: 0 }, good), stage)
  const error = budget.exceeded(outcomeOf(stage, { step: 7, admission: 1 }, [lost, lost, lost, 1]), stage)
  expect(error?.code).toBe('VERIFIER_ERROR_BUDGET')
  expect(error?.message).toBe(
    'stage math: 3 of 8 rollouts of step 7 ended in an error, more than the share of 0.25 that maxErrorShare allows; ' +
      'see the reasons in prompts.math.dlq and rollouts.math.dlq',
  )
  expect(error?.context).toEqual({ stage: 'math', step: 7, members: 8, errors: 3 })
})
