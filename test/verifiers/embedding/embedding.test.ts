import { describe, expect, test } from 'vitest'
import { cosine, type Embedding, type Encoder, openEncoder } from '../../../src/verifiers/embedding/index.ts'
import {
  cosineOf,
  folderWith,
  hiddenOf,
  idsOf,
  meanOf,
  tinyFolder,
  tinyModel,
  tinyTokenizer,
} from './tiny-encoder.ts'

const texts = ['One two, three.', '-returned print\n+alphas beta', 'four five five', '@ 1 2 3 zebra @', 'two']

async function cosines(encoder: Encoder): Promise<number[][]> {
  const read: Embedding[] = []
  for (const text of texts) read.push(await encoder.embed(text))
  return read.map((a) => read.map((b) => cosine(a.vector, b.vector)))
}

/** The same by plain arithmetic over what makes one vector of a text. */
const expected = (vector: (text: string) => number[]) =>
  texts.map((a) => texts.map((b) => expect.closeTo(cosineOf(vector(a), vector(b)), 5)))
const mean = (text: string) => meanOf(hiddenOf(idsOf(text)))
const cls = (text: string) => hiddenOf(idsOf(text))[0]!
const most = (text: string) => {
  const rows = hiddenOf(idsOf(text))
  return rows[0]!.map((_, j) => Math.max(...rows.map((row) => row[j]!)))
}

describe('cosines are those of a computation by hand', () => {
  test.each<[string, string, 'mean' | 'cls' | undefined, (text: string) => number[]]>([
    ['the mean of the tokens', tinyFolder(), undefined, mean],
    ['the first token, where that is asked for', tinyFolder(), 'cls', cls],
    [
      'the first token, where the model says so',
      tinyFolder({}, { '1_Pooling/config.json': { pooling_mode_cls_token: true } }),
      undefined,
      cls,
    ],
    ['32-bit ids and token types', tinyFolder({ idType: 'int32', typeIds: true }), undefined, mean],
    ['tokens under the other name', tinyFolder({ output: 'token_embeddings' }), undefined, mean],
    ['a model that pools by itself', tinyFolder({ output: 'sentence_embedding' }), undefined, most],
    [
      'a model in a folder of its own',
      folderWith({ 'onnx/model.onnx': tinyModel(), 'tokenizer.json': tinyTokenizer }),
      undefined,
      mean,
    ],
  ])('%s', async (_, folder, pooling, vector) => {
    await using encoder = await openEncoder(folder, pooling)
    expect(await cosines(encoder)).toEqual(expected(vector))
  })
})

test('the same text has the same vector, bit for bit, whatever was read between', async () => {
  await using one = await openEncoder(tinyFolder())
  await using other = await openEncoder(tinyFolder())
  const first = await one.embed(texts[1]!)
  for (let i = 0; i < 100; i++) await one.embed(`two ${'three '.repeat(i)}`)
  expect(await one.embed(texts[1]!)).toEqual(first)
  expect(await other.embed(texts[1]!)).toEqual(first)
  expect(one.hash).toBe(other.hash)
})

test('what decides a vector is in the hash', async () => {
  const folders = [
    tinyFolder(),
    tinyFolder({ typeIds: true }),
    tinyFolder({}, { 'tokenizer_config.json': { model_max_length: 9 } }),
    tinyFolder({}, { 'tokenizer.json': { ...tinyTokenizer, normalizer: null } }),
  ]
  const hashes = []
  for (const folder of folders) {
    await using encoder = await openEncoder(folder)
    hashes.push(encoder.hash)
  }
  expect(new Set(hashes).size).toBe(folders.length)
})

describe('a text that is too long loses its end, not the tokens around it', () => {
  const long = 'one two three four five '.repeat(300)
  const kept = (tokens: number) => {
    const ids = idsOf(long)
    return [...ids.slice(0, tokens - 1), ids.at(-1)!]
  }
  test.each<[string, Record<string, unknown>, number]>([
    ['no file', {}, 512],
    ['the model', { 'config.json': { max_position_embeddings: 64 } }, 64],
    [
      'a tokenizer without a limit, and the model',
      { 'tokenizer_config.json': { model_max_length: 1e30 }, 'config.json': { max_position_embeddings: 64 } },
      64,
    ],
    ['the tokenizer', { 'tokenizer.json': { ...tinyTokenizer, truncation: { max_length: 32 } } }, 32],
    ['the sentence model', { 'sentence_bert_config.json': { max_seq_length: 16 }, 'config.json': {} }, 16],
  ])('as %s says', async (_, files, tokens) => {
    await using encoder = await openEncoder(tinyFolder({}, files))
    const { vector, ...rest } = await encoder.embed(long)
    expect(rest).toEqual({ tokens, truncated: true })
    expect(cosineOf([...vector], meanOf(hiddenOf(kept(tokens))))).toBeCloseTo(1, 5)
    expect(await encoder.embed('one two')).toMatchObject({ tokens: 4, truncated: false })
  })

  test('also one of ten million characters', async () => {
    await using encoder = await openEncoder(tinyFolder())
    expect(await encoder.embed('x'.repeat(1e7))).toMatchObject({ truncated: true })
    expect(await encoder.embed('')).toMatchObject({ tokens: 2, truncated: false })
  })
})

describe('is refused by name:', () => {
  const bare = folderWith({})
  test.each<[string, string, RegExp]>([
    ['no folder', `${bare}/none`, /none: expected a folder, got nothing there/],
    ['a file', `${tinyFolder()}/model.onnx`, /model\.onnx: expected a folder, got a file/],
    ['an empty folder', bare, /expected model\.onnx or onnx\/model\.onnx in it, got neither/],
    ['no tokenizer', folderWith({ 'model.onnx': tinyModel() }), /expected tokenizer\.json in it, got none/],
    ['a broken tokenizer', tinyFolder({}, { 'tokenizer.json': '{' }), /tokenizer\.json: expected JSON/],
    ['another JSON', tinyFolder({}, { 'tokenizer.json': { a: 1 } }), /tokenizer\.json: model/],
    [
      'a tokenizer of an unknown kind',
      tinyFolder({}, { 'tokenizer.json': { ...tinyTokenizer, pre_tokenizer: { type: 'Guess' } } }),
      /tokenizer\.json: expected a tokenizer that is known: .*Guess/,
    ],
    [
      'a pooling that is neither',
      tinyFolder({}, { '1_Pooling/config.json': { pooling_mode_mean_tokens: false } }),
      /1_Pooling.config\.json: expected the pooling of cls or mean tokens, got another/,
    ],
    ['no model', tinyFolder({}, { 'model.onnx': 'weights' }), /model\.onnx: expected an ONNX model/],
    [
      'an input of another name',
      tinyFolder({ ids: 'tokens' }),
      /expected inputs input_ids, attention_mask and at most token_type_ids, of int64 or int32, got tokens/,
    ],
    ['no mask', tinyFolder({ without: 'attention_mask' }), /got input_ids without attention_mask/],
    [
      'an output of another name',
      tinyFolder({ output: 'logits' }),
      /expected an output sentence_embedding or last_hidden_state or .*, got logits/,
    ],
    ['a tokenizer of another model', tinyFolder({ rows: 3 }), /indices|out of/],
  ])('%s', async (_, folder, message) => {
    await expect(openEncoder(folder)).rejects.toMatchObject({
      code: 'MODEL_INVALID',
      message: expect.stringMatching(message),
    })
  })

  test('a pooling that has no tokens to pool', async () => {
    await expect(openEncoder(tinyFolder({ output: 'sentence_embedding' }), 'cls')).rejects.toMatchObject({
      code: 'MODEL_INVALID',
      message: expect.stringMatching(
        /expected an output last_hidden_state or token_embeddings, got sentence_/,
      ),
    })
  })
})
