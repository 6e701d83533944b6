import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { CascadeError } from '../../../topics/errors.ts'
import type { FolderFile } from '../../write-folder.ts'
import type { ModelConfig } from '../config.ts'
import { tokenizer } from '../tokenizer/index.ts'
import { encodeModel } from '../weights/checkpoint.ts'
import type { TensorMap } from '../weights/init.ts'
import { readCheckpointFolder } from '../weights/read-folder.ts'

/** A reward model as a folder holds it. */
export interface RewardModel {
  config: ModelConfig
  weights: TensorMap
  /** sha256 over config, weights and vocabulary. */
  hash: string
}

const tokenizerFile = 'tokenizer.json'

/** The files of a folder that {@link readRewardModel} reads, and transformers as `LlamaForSequenceClassification`. */
export function rewardModelFiles(config: ModelConfig, weights: TensorMap): FolderFile[] {
  const ids = {
    pad_token_id: tokenizer.padId,
    bos_token_id: tokenizer.bosId,
    eos_token_id: tokenizer.eosId,
  }
  const json = new TextEncoder().encode(tokenizer.toJson())
  return [...encodeModel(config, weights, ids), { name: tokenizerFile, bytes: json }]
}

/**
 * A reward model from its folder.
 *
 * @throws CascadeError naming the file, what was expected and what came: CHECKPOINT_NOT_FOUND, CHECKPOINT_INVALID, CHECKPOINT_SHAPE;
 * MODEL_INVALID for a model without a scalar head, or with another vocabulary than ours
 */
export async function readRewardModel(folder: string): Promise<RewardModel> {
  const { config, state, files } = await readCheckpointFolder(folder)
  if (config.head !== 'reward') {
    throw new CascadeError(
      'MODEL_INVALID',
      `${folder}: config.json: architectures: expected LlamaForSequenceClassification, a reward model, got a language model`,
    )
  }
  const vocabulary = await readVocabulary(folder)
  if (config.vocab_size !== tokenizer.vocabSize) {
    throw new CascadeError(
      'MODEL_INVALID',
      `${folder}: config.json: vocab_size: expected ${tokenizer.vocabSize}, as ${tokenizerFile} has, got ${config.vocab_size}`,
    )
  }
  const sum = createHash('sha256').update(vocabulary)
  for (const name of Array.from(files.keys()).sort()) {
    if (name === 'config.json' || /^model.*\.safetensors$/.test(name)) {
      sum.update(`${name} ${files.get(name)!.byteLength}\n`).update(files.get(name)!)
    }
  }
  return { config, weights: state.weights, hash: sum.digest('hex') }
}

const vocabularySchema = z.object({ model: z.object({ vocab: z.record(z.string(), z.int()) }) })

/** The text of the vocabulary, which must be ours: ids of another one would be other characters. */
async function readVocabulary(folder: string): Promise<string> {
  const file = join(folder, tokenizerFile)
  const fault = (
    code: 'CHECKPOINT_NOT_FOUND' | 'CHECKPOINT_INVALID' | 'MODEL_INVALID',
    why: string,
    cause?: unknown,
  ) => new CascadeError(code, `${file}: ${why}`, { cause })
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw fault('CHECKPOINT_NOT_FOUND', `expected the file in the checkpoint: ${String(cause)}`, cause)
  })
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (cause) {
    throw fault('CHECKPOINT_INVALID', `expected JSON: ${String(cause)}`, cause)
  }
  const got = vocabularySchema.safeParse(json)
  if (!got.success) {
    const { path, message } = got.error.issues[0]!
    throw fault('CHECKPOINT_INVALID', `${path.join('.') || '(value)'}: ${message}`)
  }
  const { vocab } = got.data.model
  const ours = vocabularySchema.parse(JSON.parse(tokenizer.toJson())).model.vocab
  if (isDeepStrictEqual(vocab, ours)) return JSON.stringify(ours)
  const count = Object.keys(vocab).length
  throw fault(
    'MODEL_INVALID',
    `model.vocab: expected the ${tokenizer.vocabSize} tokens of the character tokenizer, got others (${count})`,
  )
}
