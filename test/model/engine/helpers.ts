import type { ModelConfig } from '../../../src/model/config.ts'
import type {
  Engine,
  GeneratedRow,
  GenerateRequest,
  MicroBatch,
  UpdateOptions,
} from '../../../src/model/engine/index.ts'

/** Small enough for a test, with grouped heads. */
export const tiny: ModelConfig = {
  vocab_size: 40,
  hidden_size: 32,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 8,
  intermediate_size: 64,
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  max_position_embeddings: 96,
  tie_word_embeddings: false,
}

export interface RequestOptions extends Partial<GenerateRequest['sampling']> {
  prompt?: number[]
  rows?: number
  admission?: number
}

export function request({
  prompt = [3, 4, 5, 6],
  rows = 4,
  admission = 0,
  ...sampling
}: RequestOptions = {}): GenerateRequest {
  return {
    prompt: Int32Array.from(prompt),
    rows,
    sampling: {
      temperature: 1,
      topP: 1,
      topK: 0,
      maxTokens: 12,
      stopTokens: [2],
      logprobsMode: 'processed',
      ...sampling,
    },
    seed: { run: 7, stage: 'math', admission },
  }
}

/** All rows of a group, in order of their indices. */
export async function sample(
  engine: Engine,
  r: GenerateRequest,
  signal = new AbortController().signal,
): Promise<GeneratedRow[]> {
  const rows: GeneratedRow[] = []
  await engine.generate(
    r,
    (i, row) => {
      rows[i] = row
    },
    signal,
  )
  return rows
}

/** What of a row must not depend on time. */
export function bits(rows: readonly GeneratedRow[]): unknown {
  return rows.map(({ tokens, logprobs, finishReason }) => ({
    tokens: Array.from(tokens),
    logprobs: Array.from(new Uint32Array(logprobs.slice().buffer)),
    finishReason,
  }))
}

export const updateOptions: UpdateOptions = {
  lr: 1e-2,
  betas: [0.9, 0.95],
  eps: 1e-8,
  weightDecay: 0,
  maxGradNorm: 1,
  temperature: 1,
  klCoef: 0,
}

export function microBatch(weight = 0.1): MicroBatch {
  const [rows, cols] = [4, 9]
  const size = rows * cols
  return {
    rows,
    cols,
    tokens: Int32Array.from({ length: size }, (_, i) => 3 + ((i * 7) % 30)),
    valid: new Uint8Array(size).fill(1),
    lossMask: Uint8Array.from({ length: size }, (_, i) => (i % cols === 0 ? 0 : 1)),
    weights: new Float32Array(size).fill(weight),
  }
}
