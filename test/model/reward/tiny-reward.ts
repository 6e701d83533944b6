import type { ModelConfig } from '../../../src/model/config.ts'
import { tokenizer } from '../../../src/model/tokenizer/index.ts'
import { tinyConfig } from '../tiny.ts'

/** A reward model small enough for a test, over the character tokenizer. */
export const rewardConfig: ModelConfig = {
  ...tinyConfig,
  vocab_size: tokenizer.vocabSize,
  max_position_embeddings: 48,
  head: 'reward',
}

export const pairOptions = {
  lr: 0.01,
  betas: [0.9, 0.95],
  eps: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 1,
  centering: 0.01,
} as const

/** Tokens that follow from a number, each as long as asked. */
export function text(length: number, n: number): Int32Array {
  return Int32Array.from({ length }, (_, i) => 3 + ((i * 7 + n * 13 + i * i * n) % 90))
}
