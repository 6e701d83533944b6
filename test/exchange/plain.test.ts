import { expect, test } from 'vitest'
import { plain } from '../../src/exchange/plain.ts'

const place = { file: 'rows.jsonl', line: 1 }
const known = (value: unknown) => JSON.parse(JSON.stringify(plain.read(value, place).rollouts[0]))

test('prompt and response are enough', () => {
  expect(known({ prompt: 'q', response: 'a' })).toEqual({ prompt: 'q', response: 'a' })
})

test('a prompt may be a list of messages', () => {
  const messages = [
    { role: 'system', content: 'be brief' },
    { role: 'user', content: 'q' },
  ]
  expect(known({ prompt: messages, response: 'a' })).toEqual({
    prompt: 'system: be brief\nuser: q',
    messages,
    response: 'a',
  })
})

test('an outcome that is no score', () => {
  const row = { prompt: 'q', response: 'a' }
  expect(known({ ...row, outcome: 'unparsable', reward: 0 }).reward).toEqual({
    outcome: 'unparsable',
    score: 0,
  })
  expect(known({ ...row, outcome: 'error', reason: 'VERIFIER_TIMEOUT' }).reward).toEqual({
    outcome: 'error',
    reason: 'VERIFIER_TIMEOUT',
  })
  expect(known({ ...row, reward: null })).not.toHaveProperty('reward')
})

test('fields that it does not know are named', () => {
  expect(plain.read({ prompt: 'q', response: 'a', ground_truth: 1, note: 2 }, place).ignored).toEqual([
    'ground_truth',
    'note',
  ])
})

const base = { prompt: 'q', response: 'a' }
test.each([
  [{ response: 'a' }, 'prompt: expected a text, got nothing'],
  [{ prompt: [{ role: 'user' }], response: 'a' }, 'prompt[0]: expected a message {role, content}'],
  [{ ...base, logprobs: [-1] }, 'logprobs: expected none without responseTokens, got 1'],
  [
    { ...base, responseTokens: [1, 2], logprobs: [-1] },
    'logprobs: expected 2 values, one a response token, got 1',
  ],
  [{ ...base, responseTokens: [1], logprobs: ['x'] }, 'logprobs[0]: expected a finite number, got "x"'],
  [{ ...base, responseTokens: [2 ** 31] }, 'responseTokens[0]: expected a token id, got 2147483648'],
  [{ ...base, outcome: 'error', reward: 0 }, 'reward: expected none on an error, which has no score, got 0'],
  [{ ...base, outcome: 'score' }, 'reward: expected a number beside outcome score, got nothing'],
  [{ ...base, outcome: 'fine' }, 'outcome: expected one of score, unparsable, error, got "fine"'],
  [
    { ...base, finishReason: 'eos' },
    'finishReason: expected one of stop, length, tool_calls, abort, got "eos"',
  ],
  [{ ...base, sampling: { temperature: -1 } }, 'sampling.temperature: expected'],
  [{ ...base, group: '' }, 'group: expected a text that is not empty, got ""'],
])('%j is refused', (bad, message) => {
  expect(() => plain.read(bad, place)).toThrow(message)
})
