import { CascadeError } from '../../../topics/errors.ts'
import type { ModelConfig } from '../config.ts'
import { tokenizer } from '../tokenizer/index.ts'
import { initWeights, type TensorMap } from '../weights/init.ts'
import { readCheckpointFolder } from '../weights/read-folder.ts'

export interface StartModel {
  config: ModelConfig
  weights: TensorMap
}

export interface ModelShape {
  layers: number
  hidden: number
  heads: number
  /** Tokens of a prompt and its response, bos and eos included. */
  maxLength: number
}

export const defaultShape: ModelShape = { layers: 2, hidden: 64, heads: 4, maxLength: 96 }

/**
 * Matrices of a model of this size start so many times as large as those of a language model: a pair says one bit, and attention that
 * starts near uniform needs twice as many of them until it compares a response with its prompt.
 */
const matrixScale = 5

/** A fresh model, a pure function of shape and seed. @throws CascadeError MODEL_INVALID where the heads do not divide the width */
export function freshModel({ layers, hidden, heads, maxLength }: ModelShape, seed: number): StartModel {
  if (hidden % (2 * heads) !== 0) {
    throw new CascadeError('MODEL_INVALID', `hidden: expected a multiple of ${2 * heads}, got ${hidden}`)
  }
  const config: ModelConfig = {
    vocab_size: tokenizer.vocabSize,
    hidden_size: hidden,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: heads,
    head_dim: hidden / heads,
    intermediate_size: Math.ceil((hidden * 8) / 3 / 8) * 8,
    rms_norm_eps: 1e-5,
    rope_theta: 100,
    max_position_embeddings: maxLength,
    tie_word_embeddings: false,
    head: 'reward',
  }
  const weights = initWeights(config, seed)
  for (const [name, values] of weights) {
    if (!name.endsWith('norm')) for (const [i, v] of values.entries()) values[i] = v * matrixScale
  }
  return { config, weights }
}

/**
 * The model of a checkpoint folder: a reward model as it is, a language model with a fresh scalar head in the place of its own.
 *
 * @throws CascadeError CHECKPOINT_NOT_FOUND, CHECKPOINT_INVALID, CHECKPOINT_SHAPE; MODEL_INVALID for another vocabulary than ours
 */
export async function modelOfFolder(folder: string, seed: number): Promise<StartModel> {
  const { config: given, state } = await readCheckpointFolder(folder)
  if (given.vocab_size !== tokenizer.vocabSize) {
    throw new CascadeError(
      'MODEL_INVALID',
      `${folder}: config.json: vocab_size: expected ${tokenizer.vocabSize}, got ${given.vocab_size}`,
    )
  }
  if (given.head === 'reward') return { config: given, weights: state.weights }
  const config: ModelConfig = { ...given, tie_word_embeddings: false, head: 'reward' }
  const fresh = initWeights(config, seed)
  return { config, weights: new Map(Array.from(fresh, ([name, v]) => [name, state.weights.get(name) ?? v])) }
}
