import type { Sampling } from '../../../topics/common.ts'
import { CascadeError } from '../../../topics/errors.ts'
import type { ModelConfig } from '../config.ts'
import type { NoiseSeed } from '../sampling/noise.ts'

/** A prompt and how often to answer it. */
export interface GenerateRequest {
  prompt: Int32Array
  /** Answers: the size of the group. */
  rows: number
  sampling: Sampling
  seed: NoiseSeed
}

export interface GeneratedRow {
  /** A stop token that ended it is the last one. */
  tokens: Int32Array
  /** Nats, one a token, in the request's `logprobsMode`. */
  logprobs: Float32Array
  /**
   * What an importance ratio would have to make good, nats a token: mean of the log-probability under the distribution drawn from
   * (temperature, top-k, top-p) less the one in `logprobs`. 0 without a cut and in mode `processed`; 0 when greedy.
   */
  mismatch: number
  finishReason: 'stop' | 'length'
  /** Milliseconds from the group's start to this row's last token. */
  milliseconds: number
}

/**
 * @throws CascadeError RECORD_INVALID naming the field: an empty prompt, an id outside the vocabulary, more tokens
 * than the model has positions, sampling values out of range
 */
export function checkRequest(request: GenerateRequest, config: ModelConfig): void {
  const { prompt, rows, sampling: s, seed } = request
  const expect = (ok: boolean, field: string, expected: string, got: unknown) => {
    if (ok) return
    throw new CascadeError('RECORD_INVALID', `generate: ${field}: expected ${expected}, got ${got}`)
  }
  const vocab = config.vocab_size
  const id = (t: number) => Number.isInteger(t) && t >= 0 && t < vocab
  expect(prompt.length > 0, 'prompt', 'at least one token', 'none')
  const bad = prompt.find((t) => !id(t))
  expect(bad === undefined, 'prompt', `token ids from 0 to ${vocab - 1}`, bad)
  expect(Number.isInteger(rows) && rows >= 1, 'rows', 'a whole number of at least 1', rows)
  expect(Number.isInteger(s.maxTokens) && s.maxTokens >= 1, 'maxTokens', 'at least 1', s.maxTokens)
  const positions = config.max_position_embeddings
  const length = prompt.length + s.maxTokens
  expect(length <= positions, 'prompt and maxTokens', `at most ${positions} positions`, length)
  expect(
    Number.isFinite(s.temperature) && s.temperature >= 0,
    'temperature',
    'a number of at least 0',
    s.temperature,
  )
  expect(s.topP > 0 && s.topP <= 1, 'topP', 'a number above 0, at most 1', s.topP)
  expect(Number.isInteger(s.topK) && s.topK >= 0, 'topK', 'a whole number, 0 for no limit', s.topK)
  expect(s.stopTokens.every(Number.isInteger), 'stopTokens', 'token ids', s.stopTokens)
  for (const name of ['run', 'admission'] as const) {
    expect(Number.isSafeInteger(seed[name]) && seed[name] >= 0, `seed.${name}`, 'a whole number', seed[name])
  }
}
