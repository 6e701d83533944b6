import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { ModelConfig } from '../../../src/model/config.ts'
import { Trainer } from '../../../src/model/train/trainer.ts'
import { decodeCheckpoint } from '../../../src/model/weights/checkpoint.ts'
import { fromHuggingFace, toHuggingFace } from '../../../src/model/weights/hugging-face.ts'
import { fromHuggingFaceConfig, toHuggingFaceConfig } from '../../../src/model/weights/hugging-face-config.ts'
import { initWeights } from '../../../src/model/weights/init.ts'
import { decodeSafetensors, float32Tensor, type RawTensor } from '../../../src/model/weights/safetensors.ts'
import { oneThread, tinyConfig } from '../tiny.ts'

// Made by make_llama_fixture.py with transformers: weights, and the log-probabilities it gives fixed tokens.
const read = (name: string) => readFileSync(new URL(`./llama-tiny/${name}`, import.meta.url))
const files = new Map(['config.json', 'model.safetensors'].map((name) => [name, new Uint8Array(read(name))]))
const fixture = () => decodeSafetensors(files.get('model.safetensors')!, 'model.safetensors').tensors
const expected = JSON.parse(read('expected.json').toString()) as {
  tokens: number[][]
  log_probs: number[][]
}

test('a checkpoint that transformers saved gives the log-probabilities that transformers gives', async () => {
  const { config, state } = decodeCheckpoint(files)
  await using trainer = new Trainer(config, { weights: state.weights, session: oneThread })
  const [rows, cols] = [expected.tokens.length, expected.tokens[0]!.length]
  const { logProbs } = await trainer.score({
    rows,
    cols,
    tokens: Int32Array.from(expected.tokens.flat()),
    valid: new Uint8Array(rows * cols).fill(1),
    lossMask: Uint8Array.from({ length: rows * cols }, (_, i) => (i % cols === 0 ? 0 : 1)),
  })
  const all = expected.log_probs.flatMap((row) => [0, ...row])
  for (const [i, p] of logProbs.entries()) expect(p).toBeCloseTo(all[i]!, 4)
})

test('that checkpoint written again has the same tensors, byte for byte', () => {
  const { config, state } = decodeCheckpoint(files)
  const again = toHuggingFace(config, state.weights)
  expect(new Map([...again].sort())).toStrictEqual(new Map([...fixture()].sort()))
  expect(fromHuggingFaceConfig(toHuggingFaceConfig(config), 'config.json')).toStrictEqual(config)
})

test.each([
  ['tied', { tie_word_embeddings: true }],
  ['untied', {}],
  // Wider than a block of the transposition, and not a multiple of it.
  ['wide', { hidden_size: 72, intermediate_size: 100 }],
] satisfies [string, Partial<ModelConfig>][])('%s weights go out and come back', (_, change) => {
  const config = { ...tinyConfig, ...change }
  const weights = initWeights(config, 5)
  const tensors = toHuggingFace(config, weights)
  expect(tensors.has('lm_head.weight')).toBe(!config.tie_word_embeddings)
  expect(fromHuggingFace(config, tensors, 'f')).toStrictEqual(weights)
})

test('tables and a tied head that a checkpoint holds besides are passed over', () => {
  const config = { ...tinyConfig, tie_word_embeddings: true }
  const weights = initWeights(config, 5)
  const tensors = toHuggingFace(config, weights)
  tensors.set('model.layers.0.self_attn.rotary_emb.inv_freq', float32Tensor(new Float32Array(2), [2]))
  tensors.set('lm_head.weight', float32Tensor(new Float32Array(19 * 16), [19, 16]))
  expect(fromHuggingFace(config, tensors, 'f')).toStrictEqual(weights)
})

test.each([
  [
    'has another shape',
    (t: Map<string, RawTensor>) =>
      t.set('model.layers.1.self_attn.k_proj.weight', float32Tensor(new Float32Array(6), [2, 3])),
    'm.safetensors: tensor model.layers.1.self_attn.k_proj.weight: expected [8, 8], got [2, 3]',
  ],
  [
    'is missing',
    (t: Map<string, RawTensor>) => t.delete('model.norm.weight'),
    'm.safetensors: tensor model.norm.weight: expected [8], got nothing',
  ],
  [
    'is of another model',
    (t: Map<string, RawTensor>) =>
      t.set('model.layers.0.self_attn.q_proj.bias', float32Tensor(new Float32Array(2), [2])),
    'm.safetensors: tensor model.layers.0.self_attn.q_proj.bias: expected no tensor of that name in this model, got [2]',
  ],
])('a tensor that %s is refused by name', (_, change, message) => {
  const tensors = fixture()
  change(tensors)
  const { config } = decodeCheckpoint(files)
  expect(() => fromHuggingFace(config, tensors, 'm.safetensors')).toThrow(
    expect.objectContaining({ code: 'CHECKPOINT_SHAPE', message }),
  )
})

const plain = JSON.parse(read('config.json').toString()) as Record<string, unknown>

test('a config of an older transformers means the same', () => {
  const { rope_parameters: _, num_key_value_heads: __, head_dim: ___, ...old } = plain
  const { config } = decodeCheckpoint(files)
  expect(fromHuggingFaceConfig({ ...old, rope_theta: 5000, rope_scaling: null }, 'f')).toStrictEqual({
    ...config,
    num_key_value_heads: 4,
    head_dim: 2,
  })
})

test.each([
  ['model_type', { model_type: 'qwen3' }, '"qwen3"'],
  ['attention_bias', { attention_bias: true }, 'true'],
  ['rope_scaling', { rope_scaling: { rope_type: 'linear', factor: 2 } }, '{"rope_type":"linear","factor":2}'],
  ['hidden_act', { hidden_act: 'gelu' }, '"gelu"'],
  ['head_dim', { head_dim: 3 }, '3'],
  ['num_key_value_heads', { num_key_value_heads: 3 }, '3'],
  ['vocab_size', { vocab_size: undefined }, 'undefined'],
])('a config whose %s this engine cannot run is refused by name', (field, change, got) => {
  let error: unknown
  try {
    fromHuggingFaceConfig({ ...plain, ...change }, 'config.json')
  } catch (thrown) {
    error = thrown
  }
  expect(error).toMatchObject({ code: 'MODEL_INVALID' })
  const { message } = error as Error
  expect(message.startsWith(`config.json: ${field}: `)).toBe(true)
  expect(message.endsWith(`, got ${got}`)).toBe(true)
})
