import { expect, test } from 'vitest'
import { nemoRl } from '../../src/exchange/nemo-rl.ts'

const place = { file: '/logs/exp_001/train_data_step12.jsonl', line: 1 }

/** As `log_batched_dict_as_jsonl` writes it: each value in the list of a batch of one, padded to the longest. */
const row = {
  content: [['<|user|>1+1=', 'It is 2.', 'Environment: correct']],
  rewards: [1.0],
  input_lengths: [7],
  token_ids: [[5, 6, 7, 8, 9, 30, 31, 0, 0]],
  token_loss_mask: [[0, 0, 0, 1, 1, 0, 0, 0, 0]],
  sample_loss_mask: [1.0],
  advantages: [[0, 0, 0, 0.5, 0.5, 0, 0, 0, 0]],
  generation_logprobs: [[0, 0, 0, -0.5, -0.25, 0, 0, 0, 0]],
  prev_logprobs: [[0, 0, 0, -0.5, -0.25, 0, 0, 0, 0]],
  idx: 0,
}

test('prompt and response are parted by the mask; the last word of the environment is no response', () => {
  expect(nemoRl.read(row, place)).toEqual({
    rollouts: [
      {
        step: 12,
        prompt: '<|user|>1+1=',
        response: 'It is 2.',
        promptTokens: Int32Array.of(5, 6, 7),
        responseTokens: Int32Array.of(8, 9),
        lossMask: Uint8Array.of(1, 1),
        logprobs: Float32Array.of(-0.5, -0.25),
        reward: { outcome: 'score', score: 1 },
      },
    ],
    ignored: ['sample_loss_mask', 'advantages', 'prev_logprobs'],
  })
})

test('several turns are one response, the tool in it masked; a system message belongs to the prompt', () => {
  const content = [['system', 'user', 'call', 'result', 'done']]
  const mask = [[0, 0, 1, 0, 1, 1, 1, 0, 0]]
  const [rollout] = nemoRl.read({ ...row, content, token_loss_mask: mask }, place).rollouts
  expect(rollout).toMatchObject({
    prompt: 'systemuser',
    response: 'callresultdone',
    promptTokens: Int32Array.of(5, 6),
    responseTokens: Int32Array.of(7, 8, 9, 30, 31),
    lossMask: Uint8Array.of(1, 0, 1, 1, 1),
  })
})

test('an environment that says nothing does not move the border', () => {
  const mask = [[0, 0, 0, 1, 1, 1, 1, 0, 0]]
  const [rollout] = nemoRl.read({ ...row, content: [['q', 'a', '']], token_loss_mask: mask }, place).rollouts
  expect(rollout).toMatchObject({ prompt: 'q', response: 'a' })
})

test('with dynamic sampling the rewards of the rows are the filtered ones', () => {
  const [rollout] = nemoRl.read({ ...row, rewards: [0], filtered_rewards: [0.75] }, place).rollouts
  expect(rollout!.reward).toEqual({ outcome: 'score', score: 0.75 })
})

test('older versions write texts and rewards only', () => {
  const old = { content: [['q', 'a', 'Environment: wrong']], rewards: [0], input_lengths: [7], idx: 3 }
  expect(nemoRl.read(old, { ...place, file: 'x.jsonl' }).rollouts).toEqual([
    { prompt: 'q', response: 'a', reward: { outcome: 'score', score: 0 } },
  ])
  expect(nemoRl.read({ ...old, content: ['all of it'] }, place).rollouts[0]).toEqual({
    step: 12,
    response: 'all of it',
    reward: { outcome: 'score', score: 0 },
  })
})

test.each([
  [{ ...row, content: undefined }, 'content: expected a list, got nothing'],
  [{ ...row, rewards: ['1'] }, 'rewards: expected a finite number, got "1"'],
  [{ ...row, rewards: [1, 2] }, 'rewards: expected a finite number, got a list of 2'],
  [{ ...row, token_loss_mask: undefined }, 'token_loss_mask: expected a list beside token_ids, got nothing'],
  [{ ...row, token_ids: undefined }, 'token_ids: expected a list beside token_loss_mask, got nothing'],
  [{ ...row, token_ids: [[1, 2]] }, 'token_ids: expected at least 7 values, as input_lengths says, got 2'],
  [{ ...row, generation_logprobs: [[0]] }, 'generation_logprobs: expected at least 7 values'],
  [{ ...row, token_loss_mask: [[0, 2]] }, 'token_loss_mask[1]: expected 0 or 1, got 2'],
])('%j is refused', (bad, message) => {
  expect(() => nemoRl.read(bad, place)).toThrow(message)
})
