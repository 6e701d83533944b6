import type { ModelConfig } from '../../src/model/config.ts'
import type { MicroBatch, UpdateOptions } from '../../src/model/train/trainer.ts'

/** Small enough to write out, with every feature of the large ones: 2 key-value heads for 4 query heads. */
export const tinyConfig: ModelConfig = {
  vocab_size: 19,
  hidden_size: 16,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 4,
  intermediate_size: 24,
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  max_position_embeddings: 32,
  tie_word_embeddings: false,
}

export const tinyOptions: UpdateOptions = {
  lr: 0.01,
  betas: [0.9, 0.95],
  eps: 1e-8,
  weightDecay: 0.1,
  maxGradNorm: 1,
  temperature: 1,
  klCoef: 0,
}

/** One thread: tiny shapes gain nothing from two, and results stay the same on every machine. */
export const oneThread = { intraOpNumThreads: 1, interOpNumThreads: 1 }

/** Rows of arbitrary tokens, all real, all but the first of each row trained with weight `1 / count`. */
export function tinyBatch(rows = 3, cols = 9, o: Partial<MicroBatch> = {}): MicroBatch {
  const size = rows * cols
  return {
    rows,
    cols,
    tokens: Int32Array.from({ length: size }, (_, i) => (i * 7 + (i >> 2)) % tinyConfig.vocab_size),
    valid: new Uint8Array(size).fill(1),
    lossMask: Uint8Array.from({ length: size }, (_, i) => (i % cols === 0 ? 0 : 1)),
    weights: new Float32Array(size).fill(1 / (rows * (cols - 1))),
    ...o,
  }
}
