import { type ModelConfig, parameters } from '../config.ts'
import type { GraphBuilder, Value } from '../onnx/builder.ts'

/** Pieces of the transformer that prefill and step share, with onnxruntime's fused operators: few nodes a token. */

export const contrib = { domain: 'com.microsoft' } as const

export type Weights = ReadonlyMap<string, Value>

/** The parameters as graph inputs, under their own names. */
export function weightInputs(g: GraphBuilder, config: ModelConfig): Weights {
  return new Map(parameters(config).map((p) => [p.name, g.input(p.name, 'float32', p.shape)]))
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

/** SwiGLU: `down(silu(gate(x)) * up(x))`, gate and up in one product. */
export function mlp(g: GraphBuilder, config: ModelConfig, w: Weights, layer: number, x: Value): Value {
  const width = config.intermediate_size
  const both = g.op('MatMul', [x, w.get(`layers.${layer}.gate_up`)!])
  const [gate, up] = g.ops('Split', [both, g.i64([width, width])], 2, { attrs: { axis: -1 } })
  // QuickGelu with alpha 1 is x * sigmoid(x).
  const silu = g.op('QuickGelu', [gate!], { ...contrib, attrs: { alpha: { float: 1 } } })
  return g.op('MatMul', [g.op('Mul', [silu, up!]), w.get(`layers.${layer}.down`)!])
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
  const o = g.op('MatMul', [attended, w.get(`layers.${layer}.o`)!])
  const middle = addAndNorm(g, config, o, residual, w.get(`layers.${layer}.mlp_norm`)!)
  const next = w.get(`layers.${layer + 1}.attn_norm`) ?? w.get('norm')!
  return addAndNorm(g, config, mlp(g, config, w, layer, middle.normed), middle.sum, next)
}

/** `[N, hidden]` to `[N, vocab]`. */
export function logits(g: GraphBuilder, config: ModelConfig, w: Weights, x: Value): Value {
  if (!config.tie_word_embeddings) return g.op('MatMul', [x, w.get('lm_head')!])
  return g.op('FusedMatMul', [x, w.get('embed')!], { ...contrib, attrs: { transB: 1 } })
}
