import { type ModelConfig, parameters } from '../config.ts'
import type { DType, GraphBuilder, Value } from '../onnx/builder.ts'
import type { Tape, Var } from './autodiff.ts'
import { attention } from './ops/attention.ts'
import { add, foldGain, scale, splitFirst } from './ops/elementwise.ts'
import { embedding, pickRows } from './ops/gather.ts'
import { headsLinear, joinLinear } from './ops/heads.ts'
import { linear, linearTransposed } from './ops/linear.ts'
import { prefix } from './ops/prefix.ts'
import { rmsNorm } from './ops/rms-norm.ts'
import { rope, ropeTables } from './ops/rope.ts'
import { swiglu } from './ops/swiglu.ts'
import { type Rectangle, rectangle, sharedPrefix } from './rectangle.ts'

/**
 * The forward pass over whole sequences. Every row of `tokens [B, T]` starts at position 0 with a real token
 * and is padded on the right, if at all: then causal attention alone keeps padding out of every real
 * position, exactly, and no mask is needed. `train/batch.ts` brings other layouts into this one.
 */
export interface RowInputs {
  /** int32 `[B, T]`. */
  tokens: Value
  /** int64 `[M]`: the places (row * T + column) that are looked at: whose next token is to be predicted, or whose reward is wanted. */
  places: Value
  /** What several rows begin with, computed once. The rows of `tokens` are then what follows. */
  prompts?: SharedPrompts | undefined
}

export interface ForwardInputs extends RowInputs {
  /** Rank 0: logits are multiplied by it before the softmax. */
  inverseTemperature: Value
}

/** Prompts of `B / G` adjacent rows each. No loss is asked for at their places. */
export interface SharedPrompts {
  /** int32 `[G, P]`, padded on the right. */
  tokens: Value
  /** float32 `[G, 1, P]`: 0 at real tokens, -1e30 at padding. */
  bias: Value
  /** int64 `[B, T]`: positions of the rows' own tokens. */
  positions: Value
}

/** The parameters as graph inputs, by name, in the order of `parameters(config)`. */
export function parameterInputs(g: GraphBuilder, config: ModelConfig, prefix = ''): Map<string, Value> {
  return new Map(parameters(config).map((p) => [p.name, g.input(prefix + p.name, 'float32', p.shape)]))
}

/** Declares `tokens` int32 `[B, T]` and `places` int64 `[M]`. */
export function rowInputs(g: GraphBuilder): RowInputs {
  return { tokens: g.input('tokens', 'int32', ['B', 'T']), places: vectorInput(g, 'places', 'int64') }
}

/**
 * Declares what a forward pass reads: `tokens` int32 `[B, T]`, `places` int64 `[M]`, `inverse_temperature` float32 (rank 0), and for
 * rows that share prompts `prompt_tokens` int32 `[G, P]`, `prompt_bias` float32 `[G, 1, P]` and `positions` int64 `[B, T]`.
 */
export function forwardInputs(g: GraphBuilder, sharesPrompts: boolean): ForwardInputs {
  return {
    ...rowInputs(g),
    inverseTemperature: g.input('inverse_temperature', 'float32', []),
    prompts: sharesPrompts
      ? {
          tokens: g.input('prompt_tokens', 'int32', ['G', 'P']),
          bias: g.input('prompt_bias', 'float32', ['G', 1, 'P']),
          positions: g.input('positions', 'int64', ['B', 'T']),
        }
      : undefined,
  }
}

/** Logits `[M, vocab]` at the asked places, already divided by the temperature. */
export function forward(tape: Tape, config: ModelConfig, weights: Weights, inputs: ForwardInputs): Var {
  const w = named(weights)
  const normed = trunk(tape, config, weights, inputs)
  const scaled = tape.call(scale, [normed, tape.constant(inputs.inverseTemperature)], null)
  if (config.tie_word_embeddings) {
    const head = tape.call(foldGain, [w('embed'), w('norm')], { side: 'columns' })
    return tape.call(linearTransposed, [scaled, head], null)
  }
  const head = tape.call(foldGain, [w('lm_head'), w('norm')], { side: 'rows' })
  return tape.call(linear, [scaled, head], null)
}

/** Rewards `[M, 1]` of the texts that end at the asked places, by a model with the head `reward`. */
export function forwardReward(tape: Tape, config: ModelConfig, weights: Weights, inputs: RowInputs): Var {
  const w = named(weights)
  const head = tape.call(foldGain, [w('score'), w('norm')], { side: 'columns' })
  return tape.call(linearTransposed, [trunk(tape, config, weights, inputs), head], null)
}

type Weights = ReadonlyMap<string, Var>

function named(weights: Weights): (name: string) => Var {
  return (name) => {
    const found = weights.get(name)
    if (!found) throw new Error(`no parameter named ${name}`)
    return found
  }
}

/** What the head is given at the asked places `[M, hidden]`, normalized without the last norm's gain. */
function trunk(tape: Tape, config: ModelConfig, weights: Weights, inputs: RowInputs): Var {
  const { g } = tape
  const w = named(weights)
  const embed = (tokens: Value) => {
    const ids = tape.constant(g.op('Reshape', [tokens, g.i64([-1])]))
    return tape.call(embedding, [w('embed'), ids], { rows: config.vocab_size, width: config.hidden_size })
  }
  const { prompts } = inputs
  const tables = ropeTables(g, {
    positions: config.max_position_embeddings,
    headDim: config.head_dim,
    theta: config.rope_theta,
  })
  const rows = rectangle(g, config, inputs.tokens, tables, prompts?.positions)
  const shared = prompts && rectangle(g, config, prompts.tokens, tables)
  const before = prompts && sharedPrefix(g, rows, shared!, prompts.bias)
  let x = embed(inputs.tokens)
  let p = prompts && embed(prompts.tokens)
  const last = config.num_hidden_layers - 1
  for (let i = 0; i <= last; i++) {
    const layer = layerOf(tape, config, (name) => w(`layers.${i}.${name}`))
    let context: Var[] = []
    if (p) {
      const { query, keys } = layer.projections(p, shared!)
      context = keys
      if (i < last) {
        const seen = tape.call(attention, [query(), ...keys], shared!.attention)
        p = layer.feedForward(layer.attended(p, seen, shared!))
      }
    }
    const { query, keys } = layer.projections(x, rows)
    const all = before ? keys.map((own, j) => tape.call(prefix, [context[j]!, own], before.prefix)) : keys
    const seen = tape.call(attention, [query(), ...all], (before ?? rows).attention)
    x = layer.attended(x, seen, rows)
    if (i === last) x = tape.call(pickRows, [x, tape.constant(inputs.places)], null)
    x = layer.feedForward(x)
  }
  return tape.call(rmsNorm, [x], { width: config.hidden_size, eps: config.rms_norm_eps })
}

/** The parts of one layer, its weights prepared once for all the rectangles that pass through it. */
function layerOf(tape: Tape, config: ModelConfig, w: (name: string) => Var) {
  const kvHeads = config.num_key_value_heads
  const keyWidth = kvHeads * config.head_dim
  const queryWidth = config.num_attention_heads * config.head_dim
  const half = config.intermediate_size
  const norm = (x: Var) => tape.call(rmsNorm, [x], { width: config.hidden_size, eps: config.rms_norm_eps })
  const folded = (name: string, gain: string) => tape.call(foldGain, [w(name), w(gain)], { side: 'columns' })
  const sizes = [queryWidth, keyWidth, keyWidth]
  const [wq, wk, wv] = tape.apply(splitFirst, [folded('qkv', 'attn_norm')], { sizes })
  // Cutting the weight instead of the activations keeps two large copies out of every pass.
  const [gate, up] = tape.apply(splitFirst, [folded('gate_up', 'mlp_norm')], { sizes: [half, half] })
  const perHead = (r: Rectangle) => ({ heads: kvHeads, width: config.head_dim, order: r.headOrder })
  const perGroup = (r: Rectangle) => ({ ...perHead(r), width: queryWidth / kvHeads })
  return {
    /** The queries, made when asked for, and keys and values. */
    projections(x: Var, r: Rectangle): { query: () => Var; keys: [Var, Var] } {
      const normed = norm(x)
      const k = tape.call(rope, [tape.call(headsLinear, [normed, wk!], perHead(r))], r.ropeKey)
      const v = tape.call(headsLinear, [normed, wv!], perHead(r))
      const query = () => tape.call(rope, [tape.call(headsLinear, [normed, wq!], perGroup(r))], r.ropeQuery)
      return { query, keys: [k, v] }
    },
    attended(x: Var, seen: Var, r: Rectangle): Var {
      return tape.call(add, [x, tape.call(joinLinear, [seen, w('o')], perGroup(r))], null)
    },
    feedForward(x: Var): Var {
      const normed = norm(x)
      const times = (matrix: Var) => tape.call(linearTransposed, [normed, matrix], null)
      const h = tape.call(swiglu, [times(gate!), times(up!)], null)
      return tape.call(add, [x, tape.call(linear, [h, w('down')], null)], null)
    },
  }
}

/** Declares an input. A shorthand that keeps the graph files readable. */
export function vectorInput(g: GraphBuilder, name: string, dtype: DType = 'float32'): Value {
  return g.input(name, dtype, ['M'])
}
