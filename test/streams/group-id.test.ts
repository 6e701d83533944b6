import { expect, test } from 'vitest'
import { groupId, hashOutcome } from '../../streams/group-id.ts'
import { outcomeOf, rlStage } from './stages.ts'

// Written with sha256sum: a log of an older build must keep its ids.
test('the id of a group is the same for ever, and another for every admission, stage and run', () => {
  expect(groupId('run-1', 'math', 0)).toBe('8e3ec7477893bb5b406646a8')
  expect(groupId('run-1', 'math', 12)).toBe('15ff84d5b5b094f4dd28b508')
  const ids = ['a', 'b'].flatMap((run) =>
    ['math', 'math1'].flatMap((stage) => [0, 1, 10].map((n) => groupId(run, stage, n))),
  )
  expect(new Set(ids).size).toBe(ids.length)
})

const stage = rlStage({ groupSize: 3 })
const base = outcomeOf(stage, { admission: 0, groupId: 'g' }, [1, 0, undefined])

test('the hash of an outcome is the same for ever', () => {
  expect(hashOutcome(base)).toBe('bce990c4bf74761c099a51b8636a39c8a9df7f2833e19b64bfc39c0cb2b48ce9')
})

test('it changes with a rollout, a reward, an advantage and the order; not with what training does not take', () => {
  const [a, b, c] = base.members as [
    (typeof base.members)[0],
    (typeof base.members)[0],
    (typeof base.members)[0],
  ]
  const hashes = [
    [a, b, c],
    [{ ...a, rolloutHash: 'other' }, b, c],
    [{ ...a, reward: 0.5 }, b, c],
    [{ ...a, advantage: 0.5 }, b, c],
    [a, b, { ...c, fate: 'skipped' as const }],
    [b, a, c],
    [a, b],
  ].map((members) => hashOutcome({ ...base, members }))
  expect(new Set(hashes).size).toBe(hashes.length)
  expect(hashOutcome({ ...base, traceId: 't', verifier: 'another' })).toBe(hashOutcome(base))
})
