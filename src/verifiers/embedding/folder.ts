import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { CascadeError } from '../../../topics/index.ts'

export type Pooling = 'mean' | 'cls'

/** Where the parts of an embedding model are, and what its configuration files say. */
export interface EmbeddingFolder {
  readonly folder: string
  readonly model: string
  readonly tokenizer: unknown
  readonly tokenizerConfig: object
  /** Tokens that the model takes, special ones among them. */
  readonly maxTokens: number
  readonly pooling: Pooling
}

/** Where no file says how many tokens the model takes: what the encoders of the BERT family do. */
const usualTokens = 512

const positive = z.int().min(1)
const tokenizerFile = z.looseObject({
  model: z.looseObject({ vocab: z.union([z.record(z.string(), z.int()), z.array(z.unknown())]) }),
  truncation: z.looseObject({ max_length: positive }).nullish(),
})
/** Hugging Face writes 1e30 where a tokenizer has no limit. */
const tokenizerConfig = z.looseObject({ model_max_length: z.number().positive().nullish() })
const sentenceConfig = z.looseObject({ max_seq_length: positive.nullish() })
const modelConfig = z.looseObject({ max_position_embeddings: positive.nullish() })
const poolingConfig = z.looseObject({
  pooling_mode_cls_token: z.boolean().optional(),
  pooling_mode_mean_tokens: z.boolean().optional(),
})

/**
 * Reads a folder as Hugging Face lays it out: `model.onnx` (or `onnx/model.onnx`), `tokenizer.json`, and, where they are there,
 * `tokenizer_config.json`, `config.json`, `sentence_bert_config.json` and `1_Pooling/config.json`. The model itself is not read.
 *
 * @throws CascadeError MODEL_INVALID naming the file
 */
export async function readFolder(folder: string, pooling?: Pooling): Promise<EmbeddingFolder> {
  const kind = await stat(folder).catch(() => undefined)
  if (!kind?.isDirectory()) {
    throw invalid(folder, `expected a folder, got ${kind ? 'a file' : 'nothing there'}`)
  }
  const model = await modelIn(folder)
  const tokenizer = await json(folder, 'tokenizer.json', tokenizerFile)
  if (tokenizer === undefined) throw invalid(folder, 'expected tokenizer.json in it, got none')
  const config = await json(folder, 'tokenizer_config.json', tokenizerConfig)
  const limits = [
    (await json(folder, 'sentence_bert_config.json', sentenceConfig))?.max_seq_length,
    tokenizer.truncation?.max_length,
    config?.model_max_length,
    (await json(folder, 'config.json', modelConfig))?.max_position_embeddings,
  ].filter((limit) => typeof limit === 'number' && limit < 1e9)
  const pooled = await json(folder, join('1_Pooling', 'config.json'), poolingConfig)
  return {
    folder,
    model,
    tokenizer,
    tokenizerConfig: config ?? {},
    // The first that says it: one made for sentences goes before what the model could do.
    maxTokens: limits[0] ?? usualTokens,
    pooling: pooling ?? poolingOf(folder, pooled),
  }
}

/** sha256 of all that decides a vector. */
export async function hashFolder(given: EmbeddingFolder): Promise<string> {
  const sum = createHash('sha256')
  const { tokenizer, tokenizerConfig, maxTokens, pooling } = given
  sum.update(JSON.stringify({ tokenizer, tokenizerConfig, maxTokens, pooling }))
  for (const file of [given.model, `${given.model}_data`]) {
    if (!(await isFile(file))) continue
    for await (const part of createReadStream(file)) sum.update(part as Buffer)
  }
  return sum.digest('hex')
}

async function modelIn(folder: string): Promise<string> {
  for (const name of ['model.onnx', join('onnx', 'model.onnx')]) {
    if (await isFile(join(folder, name))) return join(folder, name)
  }
  throw invalid(folder, 'expected model.onnx or onnx/model.onnx in it, got neither')
}

function poolingOf(folder: string, config: z.infer<typeof poolingConfig> | undefined): Pooling {
  if (config?.pooling_mode_cls_token) return 'cls'
  if (config === undefined || config.pooling_mode_mean_tokens) return 'mean'
  throw invalid(folder, '1_Pooling/config.json: expected the pooling of cls or mean tokens, got another')
}

async function isFile(path: string): Promise<boolean> {
  const kind = await stat(path).catch(() => undefined)
  return kind?.isFile() ?? false
}

/** A file's content; undefined where there is no such file. */
async function json<T>(folder: string, name: string, schema: z.ZodType<T>): Promise<T | undefined> {
  let text: string
  try {
    text = await readFile(join(folder, name), 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw invalid(folder, `${name}: expected a file that can be read: ${reason(cause)}`, cause)
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw invalid(folder, `${name}: expected JSON: ${reason(cause)}`, cause)
  }
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const { path, message } = parsed.error.issues[0]!
  throw invalid(folder, `${name}: ${path.join('.') || '(value)'}: ${message}`)
}

function invalid(folder: string, why: string, cause?: unknown): CascadeError {
  return new CascadeError('MODEL_INVALID', `embedding model ${folder}: ${why}`, { cause })
}

function reason(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
