import { type ModelConfig, parameters } from '../config.ts'
import type { DType, GraphBuilder, Value } from '../onnx/builder.ts'
import type { Tape, Var } from './autodiff.ts'
import { type AttentionAttrs, attention } from './ops/attention.ts'
import { add, foldGain, scale, splitFirst } from './ops/elementwise.ts'
import { embedding, pickRows } from './ops/gather.ts'
import { headOrder, headsLinear, joinLinear } from './ops/heads.ts'
import { linear, linearTransposed } from './ops/linear.ts'
import { rmsNorm } from './ops/rms-norm.ts'
import { type RopeAttrs, rope, ropeTables } from './ops/rope.ts'
import { swiglu } from './ops/swiglu.ts'

/**
 * The forward pass over whole sequences. Every row of `tokens [B, T]` starts at position 0 with a real token
 * and is padded on the right, if at all: then causal attention alone keeps padding out of every real
 * position, exactly, and no mask is needed. `train/batch.ts` brings other layouts into this one.
 */
export interface ForwardInputs {
  /** int32 `[B, T]`. */
  tokens: Value
  /** int64 `[M]`: the places (row * T + column) whose next token is to be predicted. */
  places: Value
  /** Rank 0: logits are multiplied by it before the softmax. */
  inverseTemperature: Value
}

/** The parameters as graph inputs, by name, in the order of `parameters(config)`. */
export function parameterInputs(g: GraphBuilder, config: ModelConfig, prefix = ''): Map<string, Value> {
  return new Map(parameters(config).map((p) => [p.name, g.input(prefix + p.name, 'float32', p.shape)]))
}

/** Logits `[M, vocab]` at the asked places, already divided by the temperature. */
export function forward(
  tape: Tape,
  config: ModelConfig,
  weights: ReadonlyMap<string, Var>,
  inputs: ForwardInputs,
): Var {
  const { g } = tape
  const w = (name: string): Var => {
    const found = weights.get(name)
    if (!found) throw new Error(`no parameter named ${name}`)
    return found
  }
  const shapes = sequenceShapes(g, config, inputs.tokens)
  const normed = (x: Var) => tape.call(rmsNorm, [x], { width: config.hidden_size, eps: config.rms_norm_eps })
  const ids = tape.constant(g.op('Reshape', [inputs.tokens, g.i64([-1])]))
  let x = tape.call(embedding, [w('embed'), ids], { rows: config.vocab_size, width: config.hidden_size })
  for (let i = 0; i < config.num_hidden_layers; i++) {
    const layer = (name: string) => w(`layers.${i}.${name}`)
    const qkv = tape.call(foldGain, [layer('qkv'), layer('attn_norm')], { side: 'columns' })
    x = tape.call(add, [x, selfAttention(tape, config, shapes, normed(x), qkv, layer('o'))], null)
    const gateUp = tape.call(foldGain, [layer('gate_up'), layer('mlp_norm')], { side: 'columns' })
    x = tape.call(add, [x, feedForward(tape, config, normed(x), gateUp, layer('down'))], null)
  }
  const picked = tape.call(pickRows, [x, tape.constant(inputs.places)], null)
  const last = tape.call(scale, [normed(picked), tape.constant(inputs.inverseTemperature)], null)
  if (config.tie_word_embeddings) {
    const head = tape.call(foldGain, [w('embed'), w('norm')], { side: 'columns' })
    return tape.call(linearTransposed, [last, head], null)
  }
  const head = tape.call(foldGain, [w('lm_head'), w('norm')], { side: 'rows' })
  return tape.call(linear, [last, head], null)
}

interface SequenceShapes {
  attention: AttentionAttrs
  headOrder: Value
  ropeQuery: RopeAttrs
  ropeKey: RopeAttrs
}

function selfAttention(
  tape: Tape,
  config: ModelConfig,
  shapes: SequenceShapes,
  x: Var,
  qkv: Var,
  out: Var,
): Var {
  const { kvHeads, groups, headDim } = shapes.attention
  const queryWidth = config.num_attention_heads * headDim
  const sizes = [queryWidth, kvHeads * headDim, kvHeads * headDim]
  const [wq, wk, wv] = tape.apply(splitFirst, [qkv], { sizes })
  const perHead = { heads: kvHeads, width: headDim, order: shapes.headOrder }
  const perGroup = { ...perHead, width: groups * headDim }
  const q = tape.call(rope, [tape.call(headsLinear, [x, wq!], perGroup)], shapes.ropeQuery)
  const k = tape.call(rope, [tape.call(headsLinear, [x, wk!], perHead)], shapes.ropeKey)
  const v = tape.call(headsLinear, [x, wv!], perHead)
  return tape.call(joinLinear, [tape.call(attention, [q, k, v], shapes.attention), out], perGroup)
}

function feedForward(tape: Tape, config: ModelConfig, x: Var, gateUp: Var, down: Var): Var {
  const half = config.intermediate_size
  // Cutting the weight instead of the activations keeps two large copies out of every pass.
  const [gate, up] = tape.apply(splitFirst, [gateUp], { sizes: [half, half] })
  const times = (w: Var) => tape.call(linearTransposed, [x, w], null)
  return tape.call(linear, [tape.call(swiglu, [times(gate!), times(up!)], null), down], null)
}

function sequenceShapes(g: GraphBuilder, config: ModelConfig, tokens: Value): SequenceShapes {
  const kvHeads = config.num_key_value_heads
  const groups = config.num_attention_heads / kvHeads
  const headDim = config.head_dim
  const [batch, time] = g.ops('Split', [g.op('Shape', [tokens])], 2, { attrs: { axis: 0 } })
  const shape = (...dims: (number | Value)[]) =>
    g.op(
      'Concat',
      dims.map((d) => (typeof d === 'number' ? g.i64([d]) : d)),
      { attrs: { axis: 0 } },
    )
  const tables = ropeTables(g, {
    positions: config.max_position_embeddings,
    headDim,
    theta: config.rope_theta,
  })
  const rowsOf = (width: number): RopeAttrs => ({
    tables,
    sequenceShape: shape(-1, time!, width),
    headsShape: g.i64([kvHeads, -1, width]),
  })
  const rows = g.op('Squeeze', [g.op('Mul', [batch!, time!]), g.i64([0])])
  return {
    headOrder: headOrder(g, rows, kvHeads),
    attention: {
      kvHeads,
      groups,
      headDim,
      queryShape: groups === 1 ? shape(kvHeads, batch!, time!, headDim) : shape(kvHeads, batch!, -1, headDim),
      keyShape: shape(kvHeads, batch!, time!, headDim),
      bias: causalBias(g, time!, groups),
    },
    ropeQuery: rowsOf(groups * headDim),
    ropeKey: rowsOf(headDim),
  }
}

/** `[T * groups, T]`: 0 where the key is not later than the query, -1e30 elsewhere. */
function causalBias(g: GraphBuilder, time: Value, groups: number): Value {
  const scalar = g.op('Squeeze', [time, g.i64([0])])
  const range = g.op('Range', [g.i64(0), scalar, g.i64(1)])
  const later = g.op('Less', [g.op('Unsqueeze', [range, g.i64([1])]), g.op('Unsqueeze', [range, g.i64([0])])])
  const bias = g.op('Where', [later, g.f32(-1e30), g.f32(0)])
  if (groups === 1) return bias
  const repeated = g.op(
    'Concat',
    Array.from({ length: groups }, () => g.op('Unsqueeze', [bias, g.i64([1])])),
    {
      attrs: { axis: 1 },
    },
  )
  return g.op('Reshape', [repeated, g.op('Concat', [g.i64([-1]), time], { attrs: { axis: 0 } })])
}

/** Declares an input. A shorthand that keeps the graph files readable. */
export function vectorInput(g: GraphBuilder, name: string, dtype: DType = 'float32'): Value {
  return g.input(name, dtype, ['M'])
}
