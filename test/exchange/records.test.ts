import { expect, test } from 'vitest'
import { recordsOf } from '../../src/exchange/records.ts'
import { hashRollout } from '../../streams/hash-rollout.ts'
import { prompts, rewards, rollouts } from '../../topics/index.ts'

const of = { run: 'r', stage: 'imported', domain: 'math', dataset: 'verl', verifier: 'theirs' }
const at = { step: 4, admission: 2 }

test('what a row does not say is a placeholder, and named', () => {
  const { prompt, rollouts: made, rewards: judged } = recordsOf([{ prompt: 'q', response: 'a' }], of, at)
  expect(made[0]).toMatchObject({
    responseText: 'a',
    promptText: 'q',
    groundTruth: null,
    step: 4,
    admission: 2,
  })
  expect(made[0]!.absent).toEqual([
    'epoch',
    'visit',
    'policyVersion',
    'promptTokens',
    'groundTruth',
    'responseTokens',
    'responseLogprobs',
    'versionSpans',
    'sampling',
    'logprobsMode',
    'finishReason',
    'status',
  ])
  expect(prompt.absent?.toSorted()).toEqual(
    ['epoch', 'visit', 'policyVersion', 'seed', 'promptTokens', 'groundTruth', 'sampling'].toSorted(),
  )
  expect(judged(0)).toEqual([])
  prompts('math').encode(prompt)
  rollouts('math').encode(made[0]!)
})

test('members keep what is their own, and share what names the group', () => {
  const members = [
    {
      prompt: 'q',
      response: 'a',
      policyVersion: 7,
      groundTruth: 1,
      reward: { outcome: 'score', score: 1 } as const,
    },
    {
      prompt: 'Q',
      response: 'b',
      policyVersion: 5,
      promptTokens: Int32Array.of(1),
      responseTokens: Int32Array.of(8, 9),
      reward: { outcome: 'error', reason: 'X' } as const,
    },
  ]
  const { prompt, rollouts: made, rewards: judged } = recordsOf(members, of, at)
  expect(made.map((r) => [r.groupId, r.groupSize, r.index, r.policyVersion])).toEqual([
    [prompt.groupId, 2, 0, 7],
    [prompt.groupId, 2, 1, 5],
  ])
  expect(prompt.policyVersion).toBe(5)
  expect(made.map((r) => [r.promptText, r.promptTokens.length, r.groundTruth])).toEqual([
    ['q', 0, 1],
    ['Q', 1, null],
  ])
  expect(made[0]!.absent).toContain('promptTokens')
  expect(made[1]!.absent).not.toContain('promptTokens')
  const [good, bad] = judged(10)
  expect(good).toMatchObject({
    kind: 'reward',
    score: 1,
    rolloutOffset: 10,
    rolloutHash: hashRollout(made[0]!),
    rewards: [{ verifier: 'theirs', version: 'unknown', codeHash: 'unknown', status: 'ok', score: 1 }],
  })
  expect(bad).toMatchObject({ kind: 'member-lost', reason: 'X', rolloutOffset: 11 })
  expect(bad).not.toHaveProperty('score')
  for (const r of judged(10)) rewards('math').encode(r)
  for (const r of made) rollouts('math').encode(r)
})

test('an error that names no reason is one all the same', () => {
  const { rewards: judged } = recordsOf(
    [{ prompt: 'q', response: 'a', reward: { outcome: 'error' } }],
    of,
    at,
  )
  const [lost] = judged(0)
  expect(lost).toMatchObject({ kind: 'member-lost', reason: 'unknown', rewards: [{ status: 'error' }] })
  rewards('math').encode(lost!)
})

test('one prompt has one id; a visit of its own is another group', () => {
  const [a, b] = [at, { ...at, admission: 3 }].map(
    (x) => recordsOf([{ prompt: 'q', response: 'a' }], of, x).prompt,
  )
  expect(a!.promptId).toBe(b!.promptId)
  expect(a!.groupId).not.toBe(b!.groupId)
})

test('log-probabilities that are not there must be said to be absent', () => {
  const { rollouts: made } = recordsOf(
    [{ prompt: 'q', response: 'a', responseTokens: Int32Array.of(1) }],
    of,
    at,
  )
  const [rollout] = made
  expect(rollout!.responseLogprobs).toHaveLength(0)
  expect(() => rollouts('math').encode({ ...rollout!, absent: [] })).toThrow(/responseLogprobs/)
  expect(() => rollouts('math').encode({ ...rollout!, responseLogprobs: Float32Array.of(-1) })).toThrow(
    /responseLogprobs/,
  )
})
