import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import {
  freshModel,
  modelOfFolder,
  readRewardModel,
  rewardModelFiles,
} from '../../../src/model/reward/index.ts'
import { encodeCheckpoint, encodeModel } from '../../../src/model/weights/checkpoint.ts'
import { initWeights, zeroState } from '../../../src/model/weights/init.ts'
import { writeFolder } from '../../../src/write-folder.ts'
import { rewardConfig as config } from './tiny-reward.ts'

const weights = initWeights(config, 4)
let dir: string

beforeEach(async () => {
  const parent = await mkdtemp(join(tmpdir(), 'cascade-reward-'))
  onTestFinished(() => rm(parent, { recursive: true }))
  dir = join(parent, 'model')
  await writeFolder(dir, join(parent, '.tmp'), rewardModelFiles(config, weights))
})

const json = async (file: string) => JSON.parse(await readFile(join(dir, file), 'utf8'))
const change = async (file: string, fields: object) =>
  writeFile(join(dir, file), JSON.stringify({ ...(await json(file)), ...fields }))

test('what is written is read, and its hash is that of the weights', async () => {
  const first = await readRewardModel(dir)
  expect(first).toEqual({ config, weights, hash: expect.stringMatching(/^[0-9a-f]{64}$/) })
  expect(await json('config.json')).toMatchObject({
    architectures: ['LlamaForSequenceClassification'],
    num_labels: 1,
    pad_token_id: 0,
    eos_token_id: 2,
  })
  expect(await json('config.json')).not.toHaveProperty('head')
  expect((await readRewardModel(dir)).hash).toBe(first.hash)
  const other = new Map(weights).set(
    'score',
    weights.get('score')!.map((v) => v + 1e-6),
  )
  await writeFolder(dir, `${dir}-tmp`, rewardModelFiles(config, other))
  expect((await readRewardModel(dir)).hash).not.toBe(first.hash)
})

test.each<[string, () => Promise<unknown>, string, RegExp]>([
  ['no folder', () => rm(dir, { recursive: true }), 'CHECKPOINT_NOT_FOUND', /model: expected a folder/],
  [
    'no config',
    () => rm(join(dir, 'config.json')),
    'CHECKPOINT_NOT_FOUND',
    /config\.json: expected the file/,
  ],
  [
    'no weights',
    () => rm(join(dir, 'model.safetensors')),
    'CHECKPOINT_NOT_FOUND',
    /model\.safetensors: expected the file/,
  ],
  [
    'no tokenizer',
    () => rm(join(dir, 'tokenizer.json')),
    'CHECKPOINT_NOT_FOUND',
    /tokenizer\.json: expected the file/,
  ],
  [
    'another tokenizer',
    () => change('tokenizer.json', { model: { vocab: { a: 0, b: 1 } } }),
    'MODEL_INVALID',
    /tokenizer\.json: model\.vocab: expected the 104 tokens of the character tokenizer, got others \(2\)/,
  ],
  [
    'a tokenizer without a vocabulary',
    () => writeFile(join(dir, 'tokenizer.json'), '{}'),
    'CHECKPOINT_INVALID',
    /tokenizer\.json: model: /,
  ],
  [
    'a tokenizer that is no JSON',
    () => writeFile(join(dir, 'tokenizer.json'), '{'),
    'CHECKPOINT_INVALID',
    /JSON/,
  ],
  [
    'another shape',
    () => change('config.json', { num_hidden_layers: 3 }),
    'CHECKPOINT_SHAPE',
    /model\.safetensors: tensor model\.layers\.2\..*: expected \[16\], got nothing/,
  ],
  [
    'two labels',
    () => change('config.json', { num_labels: 2 }),
    'MODEL_INVALID',
    /config\.json: num_labels: expected 1 of a reward model, got 2/,
  ],
  [
    'labels that are left unsaid, which are two',
    () => change('config.json', { num_labels: undefined, id2label: undefined }),
    'MODEL_INVALID',
    /got 2/,
  ],
  [
    'a truncated file',
    () => writeFile(join(dir, 'model.safetensors'), 'abc'),
    'CHECKPOINT_INVALID',
    /model\.safetensors: expected a header/,
  ],
])('%s is named', async (_, damage, code, message) => {
  await damage()
  const reading = readRewardModel(dir)
  await expect(reading).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  await expect(reading).rejects.toThrow(dir)
})

test('a policy is no reward model, but one can start from it: only the head is new', async () => {
  const policy = { ...config, head: undefined, tie_word_embeddings: true }
  const trained = initWeights(policy, 9)
  const state = { weights: trained, m: zeroState(policy), v: zeroState(policy), step: 5 }
  await rm(dir, { recursive: true })
  await writeFolder(dir, `${dir}-tmp`, encodeCheckpoint(policy, state))
  await expect(readRewardModel(dir)).rejects.toMatchObject({
    code: 'MODEL_INVALID',
    message: expect.stringContaining(
      'expected LlamaForSequenceClassification, a reward model, got a language',
    ),
  })
  const start = await modelOfFolder(dir, 1)
  expect(start.config).toEqual({ ...config, tie_word_embeddings: false })
  expect(start.weights).toEqual(new Map([...trained, ['score', initWeights(config, 1).get('score')!]]))
})

test('a reward model goes on from where it was', async () => {
  expect(await modelOfFolder(dir, 7)).toEqual({ config, weights })
})

test('what transformers has saved is read: its labels, and one that has another vocabulary is refused', async () => {
  const fixture = new URL('./fixtures/pytorch/', import.meta.url)
  for (const file of ['config.json', 'model.safetensors'])
    await copyFile(new URL(file, fixture), join(dir, file))
  const message = /config\.json: vocab_size: expected 104, .*got 19/
  await expect(readRewardModel(dir)).rejects.toThrow(message)
  await expect(modelOfFolder(dir, 1)).rejects.toThrow(message.source.split(',')[0]!.replaceAll('\\', ''))
})

test('a fresh model is a pure function of shape and seed; heads must divide its width', () => {
  const shape = { layers: 1, hidden: 16, heads: 2, maxLength: 20 }
  expect(freshModel(shape, 1)).toEqual(freshModel(shape, 1))
  expect(freshModel(shape, 2).weights).not.toEqual(freshModel(shape, 1).weights)
  expect(
    freshModel(shape, 1)
      .weights.get('norm')!
      .every((v) => v === 1),
  ).toBe(true)
  expect(() => freshModel({ ...shape, hidden: 18 }, 1)).toThrow('hidden: expected a multiple of 4, got 18')
})

test('the special tokens of a language model stay unsaid', () => {
  const [file] = encodeModel({ ...config, head: undefined }, initWeights({ ...config, head: undefined }, 1))
  expect(JSON.parse(new TextDecoder().decode(file!.bytes))).toMatchObject({
    architectures: ['LlamaForCausalLM'],
    pad_token_id: null,
  })
})
