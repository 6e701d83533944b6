import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type DType, GraphBuilder } from '../../../src/model/onnx/builder.ts'

/** A real, tiny encoder of eight numbers a token, and the same in plain arithmetic. */

const width = 8
const pieces = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '@', '-', '+', ',', '1', '2', '3']
const words = ['one', 'two', 'three', 'four', 'five', 'alpha', 'beta', 'print', 'return', '##s', '##ed']
export const vocabulary = [...pieces, ...words]

/** Numbers from -1 to 1 without a pattern that a mistake could share. */
const numbers = (count: number, seed: number) =>
  Array.from({ length: count }, (_, i) => Math.fround(Math.sin((i + 1) * 12.9898 + seed * 78.233)))
const table = numbers(vocabulary.length * width, 1)
const mixing = numbers(width * width, 2)

export interface TinyOptions {
  ids?: string
  idType?: DType
  /** Leaves out what is named. */
  without?: 'attention_mask'
  typeIds?: boolean
  output?: string
  /** Rows of the table; fewer than the vocabulary's do not fit the tokenizer. */
  rows?: number
}

/** tanh((embedding + mean of the embeddings that are not masked) · mixing), one vector a token. */
export function tinyModel({ idType = 'int64', ...options }: TinyOptions = {}): Uint8Array {
  const graph = new GraphBuilder('tiny-encoder')
  const ids = graph.input(options.ids ?? 'input_ids', idType, ['batch', 'tokens'])
  const mask = options.without ? undefined : graph.input('attention_mask', idType, ['batch', 'tokens'])
  const types = options.typeIds ? graph.input('token_type_ids', idType, ['batch', 'tokens']) : undefined
  const rows = options.rows ?? vocabulary.length
  const embedding = graph.constant('float32', table.slice(0, rows * width), [rows, width])
  let tokens = graph.op('Gather', [embedding, ids])
  if (types) {
    const column = graph.op('Unsqueeze', [graph.op('Cast', [types], { attrs: { to: 1 } }), graph.i64([2])])
    tokens = graph.op('Add', [tokens, column])
  }
  if (mask) {
    const weights = graph.op('Unsqueeze', [graph.op('Cast', [mask], { attrs: { to: 1 } }), graph.i64([2])])
    const sum = graph.op('ReduceSum', [graph.op('Mul', [tokens, weights]), graph.i64([1])])
    const count = graph.op('ReduceSum', [weights, graph.i64([1])])
    tokens = graph.op('Add', [tokens, graph.op('Div', [sum, count])])
  }
  const hidden = graph.op('Tanh', [
    graph.op('MatMul', [tokens, graph.constant('float32', mixing, [width, width])]),
  ])
  const name = options.output ?? 'last_hidden_state'
  if (name === 'sentence_embedding') {
    graph.output(
      graph.op('ReduceMax', [hidden], { attrs: { axes: [1], keepdims: 0 } }),
      'float32',
      ['batch', width],
      name,
    )
  } else graph.output(hidden, 'float32', ['batch', 'tokens', width], name)
  return graph.toModel()
}

/** The same for one text whose ids are known: the vector of each token. */
export function hiddenOf(ids: readonly number[]): number[][] {
  const rows = ids.map((id) => table.slice(id * width, (id + 1) * width))
  const mean = Array.from(
    { length: width },
    (_, j) => rows.reduce((sum, row) => sum + row[j]!, 0) / rows.length,
  )
  return rows.map((row) =>
    Array.from({ length: width }, (_, j) =>
      Math.tanh(row.reduce((sum, value, i) => sum + (value + mean[i]!) * mixing[i * width + j]!, 0)),
    ),
  )
}

/** [CLS], the words and marks, [SEP]; for texts that the vocabulary spells in full. */
export function idsOf(text: string): number[] {
  const parts = text.toLowerCase().match(/[a-z]+|\d+|[^\sa-z\d]/g) ?? []
  const ids = parts.flatMap((part) => {
    const whole = vocabulary.indexOf(part)
    if (whole >= 0) return [whole]
    const ending = words.find((w) => w.startsWith('##') && part.endsWith(w.slice(2)))
    const stem = ending ? vocabulary.indexOf(part.slice(0, 2 - ending.length)) : -1
    return stem < 0 ? [vocabulary.indexOf('[UNK]')] : [stem, vocabulary.indexOf(ending!)]
  })
  return [vocabulary.indexOf('[CLS]'), ...ids, vocabulary.indexOf('[SEP]')]
}

export const tinyTokenizer = {
  version: '1.0',
  truncation: null,
  padding: null,
  added_tokens: vocabulary.slice(0, 4).map((content, id) => ({
    id,
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  })),
  normalizer: {
    type: 'BertNormalizer',
    clean_text: true,
    handle_chinese_chars: true,
    strip_accents: null,
    lowercase: true,
  },
  pre_tokenizer: { type: 'BertPreTokenizer' },
  post_processor: {
    type: 'TemplateProcessing',
    single: [
      { SpecialToken: { id: '[CLS]', type_id: 0 } },
      { Sequence: { id: 'A', type_id: 0 } },
      { SpecialToken: { id: '[SEP]', type_id: 0 } },
    ],
    pair: [],
    special_tokens: {
      '[CLS]': { id: '[CLS]', ids: [2], tokens: ['[CLS]'] },
      '[SEP]': { id: '[SEP]', ids: [3], tokens: ['[SEP]'] },
    },
  },
  decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
  model: {
    type: 'WordPiece',
    unk_token: '[UNK]',
    continuing_subword_prefix: '##',
    max_input_chars_per_word: 100,
    vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
  },
}

/** A folder with these files: bytes and texts as they are, all else as JSON. */
export function folderWith(files: Readonly<Record<string, unknown>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'cascade-embedding-'))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    const asIs = typeof content === 'string' || content instanceof Uint8Array
    writeFileSync(join(folder, name), asIs ? content : JSON.stringify(content))
  }
  return folder
}

export function tinyFolder(options: TinyOptions = {}, more: Readonly<Record<string, unknown>> = {}): string {
  return folderWith({ 'model.onnx': tinyModel(options), 'tokenizer.json': tinyTokenizer, ...more })
}

/** The cosine of two lists of numbers. */
export function cosineOf(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, i) => sum + value * y[i]!, 0)
  return dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b))
}

export function meanOf(rows: readonly (readonly number[])[]): number[] {
  return rows[0]!.map((_, j) => rows.reduce((sum, row) => sum + row[j]!, 0) / rows.length)
}
