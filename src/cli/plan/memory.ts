import { type ModelConfig, parameters } from '../../model/config.ts'
import type { CascadeConfig } from '../config.ts'

/** Bytes that a run holds, by what holds them: an estimate from shapes, in single precision. */
export interface MemoryPlan {
  readonly parameters: number
  readonly weights: number
  readonly gradients: number
  /** Both moments of AdamW. */
  readonly moments: number
  /** The weights that KL is measured against; 0 where no stage has it. */
  readonly reference: number
  /** Keys and values of the rows that decode together, at the longest length. */
  readonly cache: number
  /** What the backward pass needs of the forward pass, for the largest micro-batch, logits among it. */
  readonly activations: number
  /** What operators may hold of records, all together. */
  readonly credit: number
  readonly total: number
}

const float = 4

/** Operators with a credit window of their own. */
const windows = 6

/**
 * Activations a token: a layer keeps its input, normalised input, queries, keys and values, attention's output, and gate, up and their product; the
 * head keeps logits and their probabilities.
 */
export function memoryOf(config: CascadeConfig, model: ModelConfig): MemoryPlan {
  const count = parameters(model).reduce((sum, p) => sum + p.shape.reduce((a, b) => a * b, 1), 0)
  const {
    hidden_size: d,
    num_hidden_layers: layers,
    head_dim,
    num_key_value_heads: kv,
    num_attention_heads: heads,
  } = model
  const width = heads * head_dim + 2 * kv * head_dim
  const token = layers * (4 * d + width + 3 * model.intermediate_size) + 2 * model.vocab_size
  const { microBatchTokens, decodeRows } = config.engine
  const weights = count * float
  const parts = {
    weights,
    gradients: weights,
    moments: 2 * weights,
    reference: config.stages.some((s) => s.kind === 'rl' && s.klCoef > 0) ? weights : 0,
    cache: decodeRows * model.max_position_embeddings * layers * 2 * kv * head_dim * float,
    activations: microBatchTokens * token * float,
    credit: windows * config.credit.bytes,
  }
  return { parameters: count, ...parts, total: Object.values(parts).reduce((a, b) => a + b, 0) }
}
