import { CascadeError } from '../../../topics/errors.ts'
import { type ModelConfig, parameters } from '../config.ts'
import { toFloat32 } from './float32.ts'
import type { TensorMap } from './init.ts'
import { float32Tensor, type RawTensor } from './safetensors.ts'

/**
 * Names and layouts of Hugging Face's `LlamaForCausalLM`, and of its `LlamaForSequenceClassification` for a reward model. There every matrix is stored `[out, in]` and each projection has its own;
 * ours share one where they have the same input, one below the other, and some lie the other way: see `parameters`.
 */

/** One Hugging Face tensor as a part of one of ours. */
interface Part {
  name: string
  shape: readonly number[]
  /** Our parameter. */
  parameter: string
  /** Where its numbers begin in ours. */
  at: number
  /** Ours is `[in, out]`. */
  transposed: boolean
}

function parts(c: ModelConfig): Part[] {
  const d = c.hidden_size
  const q = c.num_attention_heads * c.head_dim
  const kv = c.num_key_value_heads * c.head_dim
  const one = (parameter: string, name: string, shape: readonly number[], transposed = false): Part[] => [
    { name, shape, parameter, at: 0, transposed },
  ]
  const stacked = (parameter: string, outs: readonly (readonly [string, number])[]): Part[] => {
    let row = 0
    return outs.map(([name, out]) => {
      const part = { name, shape: [out, d], parameter, at: row * d, transposed: false }
      row += out
      return part
    })
  }
  const layer = (i: number): Part[] => {
    const ours = `layers.${i}.`
    const at = `model.layers.${i}.`
    const attn = `${at}self_attn.`
    return [
      ...one(`${ours}attn_norm`, `${at}input_layernorm.weight`, [d]),
      ...stacked(`${ours}qkv`, [
        [`${attn}q_proj.weight`, q],
        [`${attn}k_proj.weight`, kv],
        [`${attn}v_proj.weight`, kv],
      ]),
      ...one(`${ours}o`, `${attn}o_proj.weight`, [d, q], true),
      ...one(`${ours}mlp_norm`, `${at}post_attention_layernorm.weight`, [d]),
      ...stacked(`${ours}gate_up`, [
        [`${at}mlp.gate_proj.weight`, c.intermediate_size],
        [`${at}mlp.up_proj.weight`, c.intermediate_size],
      ]),
      ...one(`${ours}down`, `${at}mlp.down_proj.weight`, [d, c.intermediate_size], true),
    ]
  }
  return [
    ...one('embed', 'model.embed_tokens.weight', [c.vocab_size, d]),
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    ...one('norm', 'model.norm.weight', [d]),
    ...head(c),
  ]
}

function head(c: ModelConfig): readonly Part[] {
  const d = c.hidden_size
  const part = { parameter: 'score', at: 0, transposed: false }
  if (c.head === 'reward') return [{ name: 'score.weight', shape: [1, d], ...part }]
  if (c.tie_word_embeddings) return []
  return [{ name: 'lm_head.weight', shape: [c.vocab_size, d], parameter: 'lm_head', at: 0, transposed: true }]
}

/** Weights under Hugging Face names, in float32. Exact. */
export function toHuggingFace(config: ModelConfig, weights: TensorMap): Map<string, RawTensor> {
  return new Map(
    parts(config).map(({ name, shape, parameter, at, transposed }) => {
      const from = weights.get(parameter)
      if (!from) {
        throw new CascadeError(
          'CHECKPOINT_SHAPE',
          `tensor ${parameter}: expected it in the weights, got nothing`,
        )
      }
      const [rows, columns = 1] = shape as [number, number?]
      const values = transposed ? transpose(from, columns, rows) : from.subarray(at, at + rows * columns)
      return [name, float32Tensor(values, shape)]
    }),
  )
}

/** Tensors that a checkpoint may hold besides: fixed tables, and the head that is the embedding. */
function isRedundant(name: string, config: ModelConfig): boolean {
  return name.endsWith('.rotary_emb.inv_freq') || (config.tie_word_embeddings && name === 'lm_head.weight')
}

/**
 * Our weights from tensors under Hugging Face names (F32, F16 or BF16; the latter two widen exactly).
 *
 * @throws CascadeError CHECKPOINT_SHAPE naming file, tensor and both shapes, also for one that is missing or not of this
 * model; CHECKPOINT_INVALID for another dtype
 */
export function fromHuggingFace(
  config: ModelConfig,
  tensors: ReadonlyMap<string, RawTensor>,
  file: string,
): TensorMap {
  const list = parts(config)
  const known = new Map(list.map((p) => [p.name, p]))
  const fault = (name: string, expected: string, got: string) =>
    new CascadeError('CHECKPOINT_SHAPE', `${file}: tensor ${name}: expected ${expected}, got ${got}`)
  for (const { name, shape } of list) {
    const expected = `[${shape.join(', ')}]`
    const tensor = tensors.get(name)
    if (!tensor) throw fault(name, expected, 'nothing')
    const got = `[${tensor.shape.join(', ')}]`
    if (got !== expected) throw fault(name, expected, got)
  }
  for (const [name, { shape }] of tensors) {
    if (known.has(name) || isRedundant(name, config)) continue
    throw fault(name, 'no tensor of that name in this model', `[${shape.join(', ')}]`)
  }
  const weights: TensorMap = new Map(
    parameters(config).map((p) => [p.name, new Float32Array(p.shape.reduce((a, b) => a * b, 1))]),
  )
  for (const { name, shape, parameter, at, transposed } of list) {
    const from = toFloat32(tensors.get(name)!, `${file}: tensor ${name}`)
    const [rows, columns] = shape as [number, number]
    weights.get(parameter)!.set(transposed ? transpose(from, rows, columns) : from, at)
  }
  return weights
}

/** Side of the square blocks: both sides of a block stay in the nearest cache. */
const block = 32

/** The `rows x columns` matrix transposed. */
function transpose(from: Float32Array, rows: number, columns: number): Float32Array {
  const into = new Float32Array(rows * columns)
  for (let r0 = 0; r0 < rows; r0 += block) {
    for (let c0 = 0; c0 < columns; c0 += block) {
      const rEnd = Math.min(r0 + block, rows)
      const cEnd = Math.min(c0 + block, columns)
      for (let r = r0; r < rEnd; r++) {
        for (let c = c0; c < cEnd; c++) into[c * rows + r] = from[r * columns + c]!
      }
    }
  }
  return into
}
