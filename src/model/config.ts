import { z } from 'zod'

/**
 * One decoder-only transformer of the Llama/Qwen family: RMSNorm, rotary positions, grouped-query
 * attention, SwiGLU. Field names are those of a Hugging Face `config.json`.
 */
export const modelConfigSchema = z
  .object({
    vocab_size: z.int().min(2),
    hidden_size: z.int().min(2),
    num_hidden_layers: z.int().min(1),
    num_attention_heads: z.int().min(1),
    num_key_value_heads: z.int().min(1),
    /** Width of one head; even, since rotary positions pair its halves. */
    head_dim: z.int().min(2).multipleOf(2),
    intermediate_size: z.int().min(1),
    rms_norm_eps: z.number().positive(),
    rope_theta: z.number().positive(),
    max_position_embeddings: z.int().min(1),
    tie_word_embeddings: z.boolean(),
    /** `reward`: one number for the text so far in the place of logits. @default logits of the next token */
    head: z.literal('reward').optional(),
  })
  .refine((c) => c.num_attention_heads % c.num_key_value_heads === 0, {
    message: 'num_attention_heads must be a multiple of num_key_value_heads',
    path: ['num_key_value_heads'],
  })

export type ModelConfig = z.infer<typeof modelConfigSchema>

export interface ParameterSpec {
  name: string
  shape: readonly number[]
  /** Decoupled weight decay applies (matrices, not norms). */
  decay: boolean
  /** Standard deviation of the normal it starts from; 'ones' for norm gains. */
  init: number | 'ones'
}

/**
 * The parameters in their order in memory. Query, key and value share one matrix, and so do gate and up. A matrix lies so that its
 * gradient's longer side comes first, which is faster by a tenth: `qkv`, `gate_up`, `score` and the embedding `[out, in]`, as with
 * Hugging Face, `o`, `down` and `lm_head` `[in, out]`. `weights/` converts to and from the Hugging Face names and orientation.
 */
export function parameters(c: ModelConfig): ParameterSpec[] {
  const d = c.hidden_size
  const q = c.num_attention_heads * c.head_dim
  const kv = c.num_key_value_heads * c.head_dim
  const std = 0.02
  // Residual projections start smaller, by the depth of the residual stream (GPT-2's scaling).
  const residual = std / Math.sqrt(2 * c.num_hidden_layers)
  const list: ParameterSpec[] = [{ name: 'embed', shape: [c.vocab_size, d], decay: true, init: std }]
  for (let i = 0; i < c.num_hidden_layers; i++) {
    list.push(
      { name: `layers.${i}.attn_norm`, shape: [d], decay: false, init: 'ones' },
      { name: `layers.${i}.qkv`, shape: [q + 2 * kv, d], decay: true, init: std },
      { name: `layers.${i}.o`, shape: [q, d], decay: true, init: residual },
      { name: `layers.${i}.mlp_norm`, shape: [d], decay: false, init: 'ones' },
      { name: `layers.${i}.gate_up`, shape: [2 * c.intermediate_size, d], decay: true, init: std },
      { name: `layers.${i}.down`, shape: [c.intermediate_size, d], decay: true, init: residual },
    )
  }
  list.push({ name: 'norm', shape: [d], decay: false, init: 'ones' })
  if (c.head === 'reward') list.push({ name: 'score', shape: [1, d], decay: true, init: std })
  else if (!c.tie_word_embeddings)
    list.push({ name: 'lm_head', shape: [d, c.vocab_size], decay: true, init: std })
  return list
}
