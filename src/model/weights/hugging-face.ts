import { CascadeError } from '../../../topics/errors.ts'
import { type ModelConfig, parameters } from '../config.ts'
import { toFloat32 } from './float32.ts'
import type { TensorMap } from './init.ts'
import { float32Tensor, type RawTensor } from './safetensors.ts'

/**
 * Names and layouts of Hugging Face's `LlamaForCausalLM`. There a matrix is stored `[out, in]` and each projection
 * has its own; ours are `[in, out]`, with query, key and value side by side, and gate and up.
 */

/** One Hugging Face tensor as a part of one of ours. */
interface Part {
  name: string
  shape: readonly number[]
  /** Our parameter. */
  parameter: string
  /** Stored here `[out, in]` while ours is `[in, width]`, from this column on. Plain copies otherwise. */
  transposed?: { column: number; width: number }
}

function parts(c: ModelConfig): Part[] {
  const d = c.hidden_size
  const q = c.num_attention_heads * c.head_dim
  const kv = c.num_key_value_heads * c.head_dim
  const plain = (parameter: string, name: string, shape: readonly number[]): Part[] => [
    { name, shape, parameter },
  ]
  const matrices = (parameter: string, rows: number, outs: readonly [string, number][]): Part[] => {
    const width = outs.reduce((sum, [, out]) => sum + out, 0)
    let column = 0
    return outs.map(([name, out]) => {
      const part = { name, shape: [out, rows], parameter, transposed: { column, width } }
      column += out
      return part
    })
  }
  const layer = (i: number): Part[] => {
    const ours = `layers.${i}.`
    const at = `model.layers.${i}.`
    const attn = `${at}self_attn.`
    const projections = [
      [`${attn}q_proj.weight`, q],
      [`${attn}k_proj.weight`, kv],
      [`${attn}v_proj.weight`, kv],
    ] as const
    const gates = [
      [`${at}mlp.gate_proj.weight`, c.intermediate_size],
      [`${at}mlp.up_proj.weight`, c.intermediate_size],
    ] as const
    return [
      ...plain(`${ours}attn_norm`, `${at}input_layernorm.weight`, [d]),
      ...matrices(
        `${ours}qkv`,
        d,
        projections.map(([name, out]) => [name, out]),
      ),
      ...matrices(`${ours}o`, q, [[`${attn}o_proj.weight`, d]]),
      ...plain(`${ours}mlp_norm`, `${at}post_attention_layernorm.weight`, [d]),
      ...matrices(
        `${ours}gate_up`,
        d,
        gates.map(([name, out]) => [name, out]),
      ),
      ...matrices(`${ours}down`, c.intermediate_size, [[`${at}mlp.down_proj.weight`, d]]),
    ]
  }
  return [
    ...plain('embed', 'model.embed_tokens.weight', [c.vocab_size, d]),
    ...Array.from({ length: c.num_hidden_layers }, (_, i) => layer(i)).flat(),
    ...plain('norm', 'model.norm.weight', [d]),
    ...(c.tie_word_embeddings ? [] : matrices('lm_head', d, [['lm_head.weight', c.vocab_size]])),
  ]
}

/** Weights under Hugging Face names, in float32. Exact. */
export function toHuggingFace(config: ModelConfig, weights: TensorMap): Map<string, RawTensor> {
  return new Map(
    parts(config).map(({ name, shape, parameter, transposed }) => {
      const from = weights.get(parameter)
      if (!from) {
        throw new CascadeError(
          'CHECKPOINT_SHAPE',
          `tensor ${parameter}: expected it in the weights, got nothing`,
        )
      }
      if (!transposed) return [name, float32Tensor(from, shape)]
      const [out, rows] = shape as [number, number]
      const { column, width } = transposed
      const values = new Float32Array(out * rows)
      transpose({ from, at: column, stride: width }, { into: values, at: 0, stride: rows }, rows, out)
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
  for (const { name, shape, parameter, transposed } of list) {
    const from = toFloat32(tensors.get(name)!, `${file}: tensor ${name}`)
    const into = weights.get(parameter)!
    if (!transposed) into.set(from)
    else {
      const [out, rows] = shape as [number, number]
      const { column, width } = transposed
      transpose({ from, at: 0, stride: rows }, { into, at: column, stride: width }, out, rows)
    }
  }
  return weights
}

/** Side of the square blocks: both sides of a block stay in the nearest cache. */
const block = 32

/** Writes the `rows x cols` matrix in `from` transposed into a window of `into`. */
function transpose(
  { from, at: source, stride: fromStride }: { from: Float32Array; at: number; stride: number },
  { into, at: target, stride: intoStride }: { into: Float32Array; at: number; stride: number },
  rows: number,
  cols: number,
): void {
  for (let r0 = 0; r0 < rows; r0 += block) {
    for (let c0 = 0; c0 < cols; c0 += block) {
      const rEnd = Math.min(r0 + block, rows)
      const cEnd = Math.min(c0 + block, cols)
      for (let r = r0; r < rEnd; r++) {
        for (let c = c0; c < cEnd; c++) {
          into[target + c * intoStride + r] = from[source + r * fromStride + c]!
        }
      }
    }
  }
}
