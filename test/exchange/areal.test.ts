import { expect, test } from 'vitest'
import { areal } from '../../src/exchange/areal.ts'

const place = { file: '/dump/rollout/7/31.jsonl', line: 2 }

/** As `_dump_trajectory` writes it. */
const row = {
  task_id: 31,
  sample_idx: 1,
  seqlen: 9,
  prompt_len: 4,
  head_version: 6,
  tail_version: 7,
  version_rle: [
    [6, 2],
    [7, 3],
  ],
  reward: 0.5,
  prompt: '<|im_start|>user\n1+1=<|im_end|>\n',
  completion: '2<|im_end|>',
}

test('a row of one turn: the tokens of each version follow each other', () => {
  expect(areal.read(row, place)).toEqual({
    rollouts: [
      {
        group: '/dump/rollout/7/31.jsonl:31',
        prompt: row.prompt,
        response: row.completion,
        policyVersion: 6,
        versionSpans: [
          { version: 6, start: 0, end: 2 },
          { version: 7, start: 2, end: 5 },
        ],
        reward: { outcome: 'score', score: 0.5 },
      },
    ],
    ignored: [],
  })
})

test('several turns: what the environment said lies between the spans', () => {
  const segments = [
    { role: 'prompt', len: 4, text: 'p' },
    { role: 'gen', len: 3, text: 'a' },
    { role: 'context', len: 10, text: 'tool' },
    { role: 'gen', len: 2, text: 'b' },
  ]
  const { rollouts } = areal.read({ ...row, segments, original_reward: 1 }, place)
  expect(rollouts[0]).toMatchObject({
    versionSpans: [
      { version: 6, start: 0, end: 2 },
      { version: 7, start: 2, end: 3 },
      { version: 7, start: 13, end: 15 },
    ],
    reward: { score: 0.5, detail: { original_reward: 1 } },
  })
})

test('a dump of an older version has no runs of versions', () => {
  const { version_rle: _, ...old } = row
  const [rollout] = areal.read(old, place).rollouts
  expect(rollout).toMatchObject({ policyVersion: 6 })
  expect(rollout).not.toHaveProperty('versionSpans')
  expect(areal.read({ ...old, head_version: -1 }, place).rollouts[0]).not.toHaveProperty('policyVersion')
})

test.each([
  [{ ...row, task_id: undefined }, 'task_id: expected a number or a text, got nothing'],
  [{ ...row, reward: 'NaN' }, 'reward: expected a finite number, got "NaN"'],
  [
    { ...row, version_rle: [[6]] },
    'version_rle[0][1]: expected a whole number from 0 to 2147483647, got nothing',
  ],
  [
    { ...row, segments: [{ role: 'gen', len: 6, text: '' }] },
    'version_rle: expected a version for every generated token, got fewer',
  ],
])('%j is refused', (bad, message) => {
  expect(() => areal.read(bad, place)).toThrow(message)
})
