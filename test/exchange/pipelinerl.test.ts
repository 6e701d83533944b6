import { expect, test } from 'vitest'
import { pipelinerl } from '../../src/exchange/pipelinerl.ts'

const place = { file: 'actor/0.jsonl', line: 3 }

/** As `make_training_text` and the actor write it; `n_predicted` counts characters, of which 😀 is one. */
const text = {
  text: 'Ask 😀: 1+1? It is 2 😀.',
  n_predicted: 10,
  reward: 1.0,
  logprobs: [-0.25, -0.5, -0.125],
  ref_logprobs: [],
  input_ids: [10, 11, 12, 20, 21, 2],
  labels: [-100, -100, -100, 20, 21, 2],
  group_id: 'actor_17',
  finished: true,
  prompt_tokens: 3,
  output_tokens: 3,
  visual_features: null,
  metadata: { model_version: 512, rollout_index: 0, step_index: 0 },
}

test('a line is a group', () => {
  const { rollouts, ignored } = pipelinerl.read([text, { ...text, reward: 0, finished: false }], place)
  expect(ignored).toEqual([])
  expect(rollouts[0]).toEqual({
    group: 'actor/0.jsonl:3',
    prompt: 'Ask 😀: 1+1? ',
    response: 'It is 2 😀.',
    promptTokens: Int32Array.of(10, 11, 12),
    responseTokens: Int32Array.of(20, 21, 2),
    logprobs: Float32Array.of(-0.25, -0.5, -0.125),
    lossMask: Uint8Array.of(1, 1, 1),
    policyVersion: 512,
    finishReason: 'stop',
    status: 'completed',
    reward: { outcome: 'score', score: 1 },
  })
  expect(rollouts[1]).toMatchObject({ finishReason: 'length', status: 'truncated', reward: { score: 0 } })
})

test('a text by itself has the group that it names', () => {
  expect(pipelinerl.read(text, place).rollouts[0]!.group).toBe('actor_17')
  expect(pipelinerl.read({ ...text, group_id: null }, place).rollouts[0]).not.toHaveProperty('group')
})

test('log-probabilities belong to the last tokens; those of a tool among them are masked', () => {
  const several = { ...text, logprobs: [-1, 0, -2, -3], labels: [-100, -100, 12, -100, 21, 2] }
  expect(pipelinerl.read(several, place).rollouts[0]).toMatchObject({
    promptTokens: Int32Array.of(10, 11),
    responseTokens: Int32Array.of(12, 20, 21, 2),
    lossMask: Uint8Array.of(1, 0, 1, 1),
    logprobs: Float32Array.of(-1, 0, -2, -3),
  })
  const [without] = pipelinerl.read({ ...text, logprobs: [] }, place).rollouts
  expect(without).toMatchObject({ responseTokens: Int32Array.of(20, 21, 2) })
  expect(without).not.toHaveProperty('logprobs')
})

test('a text without tokens is a text', () => {
  const [bare] = pipelinerl.read({ text: 'ab', n_predicted: 1 }, place).rollouts
  expect(bare).toEqual({ prompt: 'a', response: 'b', reward: { outcome: 'score', score: 0 } })
})

test.each([
  [{ ...text, n_predicted: 99 }, 'n_predicted: expected at most as many characters as the text has, got 99'],
  [{ ...text, labels: [20] }, 'labels: expected 6 labels, one a token, got 1'],
  [{ ...text, labels: [-100, -100, -100, 'x', 21, 2] }, 'labels[3]: expected a token id or -100, got "x"'],
  [
    { ...text, logprobs: [-1] },
    'logprobs: expected at least 3, one for every token from the first trained one on',
  ],
  [{ ...text, input_ids: [1.5] }, 'input_ids[0]: expected a token id, got 1.5'],
  [{ ...text, ref_logprobs: [0] }, 'ref_logprobs: expected 3 values, as many as logprobs, got 1'],
  [[text, 3], '[1]: expected a JSON object, got 3'],
  [[{ ...text, reward: 'x' }], '[0].reward: expected a finite number, got "x"'],
])('%j is refused', (bad, message) => {
  expect(() => pipelinerl.read(bad, place)).toThrow(message)
})
