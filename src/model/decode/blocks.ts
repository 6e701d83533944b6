import type { ModelConfig } from '../config.ts'
import type { GraphBuilder, Value } from '../onnx/builder.ts'
import type { Tensors } from '../train/sessions.ts'
import { decodeWeights } from './layout.ts'

/** Pieces of the transformer that prefill and step share, with onnxruntime's fused operators: few nodes a token. */

export const contrib = { domain: 'com.microsoft' } as const

export type Weights = ReadonlyMap<string, Value>

/** The weights as {@link decodeWeights} lays them out: as graph inputs, or built in where `values` are given. */
export function weightInputs(g: GraphBuilder, config: ModelConfig, values?: Tensors): Weights {
  return new Map(
    decodeWeights(config).map(({ name, shape }) => {
      const data = values?.[name]?.data as Float32Array | undefined
      return [name, data ? g.constant('float32', data, shape) : g.input(name, 'float32', shape)]
    }),
  )
}

/** `x [..., in]` times a matrix that is laid out `[out, in]`. */
export function product(g: GraphBuilder, x: Value, matrix: Value): Value {
  return g.op('FusedMatMul', [x, matrix], { ...contrib, attrs: { transB: 1 } })
}

export interface RotaryTables {
  cos: Value
  sin: Value
}

/** `cos` and `sin`, float32 `[P, head_dim / 2]`: see {@link rotaryTables}. */
export function rotaryInputs(g: GraphBuilder, config: ModelConfig): RotaryTables {
  const shape = ['P', config.head_dim / 2]
  return { cos: g.input('cos', 'float32', shape), sin: g.input('sin', 'float32', shape) }
}

/**
 * Rotary tables of the decode graphs, `[positions, head_dim / 2]`, in double precision and rounded once. They carry
 * the attention's scale: queries and keys each come out times `head_dim^-1/4`, their products times `head_dim^-1/2`.
 * Products without a factor take onnxruntime's vector-matrix kernel; with one the keys would be packed first.
 */
export function rotaryTables(
  config: ModelConfig,
  positions: number,
): { cos: Float32Array; sin: Float32Array } {
  const half = config.head_dim / 2
  const scale = config.head_dim ** -0.25
  const table = (f: (angle: number) => number) =>
    Float32Array.from({ length: positions * half }, (_, i) => {
      const frequency = config.rope_theta ** (-(i % half) / half)
      return scale * f(Math.floor(i / half) * frequency)
    })
  return { cos: table(Math.cos), sin: table(Math.sin) }
}

export function firstNorm(g: GraphBuilder, config: ModelConfig, w: Weights, x: Value): Value {
  const attrs = { epsilon: { float: config.rms_norm_eps }, axis: -1, stash_type: 1 }
  return g.op('SimplifiedLayerNormalization', [x, w.get('layers.0.attn_norm')!], { attrs })
}

/** `residual + update`, and its norm with the named gain. */
export function addAndNorm(
  g: GraphBuilder,
  config: ModelConfig,
  update: Value,
  residual: Value,
  gain: Value,
): { sum: Value; normed: Value } {
  const attrs = { epsilon: { float: config.rms_norm_eps } }
  const [normed, , , sum] = g.ops('SkipSimplifiedLayerNormalization', [update, residual, gain], 4, {
    ...contrib,
    attrs,
  })
  return { sum: sum!, normed: normed! }
}

/** SwiGLU: `down(silu(gate(x)) * up(x))`. */
function mlp(g: GraphBuilder, w: Weights, layer: number, x: Value): Value {
  const times = (by: string, of: Value) => product(g, of, w.get(`layers.${layer}.${by}`)!)
  // QuickGelu with alpha 1 is x * sigmoid(x).
  const silu = g.op('QuickGelu', [times('gate', x)], { ...contrib, attrs: { alpha: { float: 1 } } })
  return times('down', g.op('Mul', [silu, times('up', x)]))
}

/** After the attention of a layer: output product, residual, MLP, residual, and the norm of what comes next. */
export function finishLayer(
  g: GraphBuilder,
  config: ModelConfig,
  w: Weights,
  layer: number,
  attended: Value,
  residual: Value,
): { sum: Value; normed: Value } {
  const o = product(g, attended, w.get(`layers.${layer}.o`)!)
  const middle = addAndNorm(g, config, o, residual, w.get(`layers.${layer}.mlp_norm`)!)
  const next = w.get(`layers.${layer + 1}.attn_norm`) ?? w.get('norm')!
  return addAndNorm(g, config, mlp(g, w, layer, middle.normed), middle.sum, next)
}

/** `[N, hidden]` to `[N, vocab]`. */
export function logits(g: GraphBuilder, config: ModelConfig, w: Weights, x: Value): Value {
  return product(g, x, w.get(config.tie_word_embeddings ? 'embed' : 'lm_head')!)
}
