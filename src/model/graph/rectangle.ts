import type { ModelConfig } from '../config.ts'
import type { GraphBuilder, Value } from '../onnx/builder.ts'
import type { AttentionAttrs } from './ops/attention.ts'
import { headOrder } from './ops/heads.ts'
import type { PrefixAttrs } from './ops/prefix.ts'
import type { RopeAttrs, RopeTables } from './ops/rope.ts'

/** Rows of equal length: what the operators need to know of their shape. */
export interface Rectangle {
  /** int64 `[1]` each. */
  batch: Value
  time: Value
  attention: AttentionAttrs
  headOrder: Value
  ropeQuery: RopeAttrs
  ropeKey: RopeAttrs
}

export function rectangle(
  g: GraphBuilder,
  config: ModelConfig,
  tokens: Value,
  tables: RopeTables,
  positions?: Value,
): Rectangle {
  const kvHeads = config.num_key_value_heads
  const groups = config.num_attention_heads / kvHeads
  const headDim = config.head_dim
  const [batch, time] = g.ops('Split', [g.op('Shape', [tokens])], 2, { attrs: { axis: 0 } })
  const perHead = positions && g.op('Expand', [positions, shape(g, kvHeads, 1, 1)])
  const rowsOf = (width: number): RopeAttrs => ({
    tables,
    positions: perHead && g.op('Reshape', [perHead, shape(g, -1, time!)]),
    sequenceShape: shape(g, -1, time!, width),
    headsShape: g.i64([kvHeads, -1, width]),
  })
  const rows = g.op('Squeeze', [g.op('Mul', [batch!, time!]), g.i64([0])])
  return {
    batch: batch!,
    time: time!,
    headOrder: headOrder(g, rows, kvHeads),
    attention: {
      kvHeads,
      groups,
      headDim,
      queryShape: shape(g, kvHeads, batch!, groups === 1 ? time! : -1, headDim),
      keyShape: shape(g, kvHeads, batch!, time!, headDim),
      bias: causalBias(g, time!, groups),
    },
    ropeQuery: rowsOf(groups * headDim),
    ropeKey: rowsOf(headDim),
  }
}

/** How rows see the prompts that they share: keys and values get a prefix, and attention goes over both. */
export interface SharedPrefix {
  prefix: PrefixAttrs
  attention: AttentionAttrs
}

/** @param bias `[G, 1, P]`: 0 at a prompt's tokens, a large negative number at its padding */
export function sharedPrefix(
  g: GraphBuilder,
  rows: Rectangle,
  prompts: Rectangle,
  bias: Value,
): SharedPrefix {
  const { kvHeads, headDim } = rows.attention
  const width = g.op('Mul', [prompts.time, g.i64([headDim])])
  const copies = g.op('Div', [rows.batch, prompts.batch])
  const places = g.op('Add', [prompts.time, rows.time])
  return {
    prefix: {
      kvHeads,
      headDim,
      promptShape: shape(g, kvHeads, prompts.batch, 1, width),
      copies: shape(g, 1, 1, copies, 1),
      copiesShape: shape(g, kvHeads, prompts.batch, -1, width),
      rowShape: shape(g, kvHeads, rows.batch, -1),
      parts: shape(g, width, g.op('Mul', [rows.time, g.i64([headDim])])),
    },
    attention: {
      ...rows.attention,
      keyShape: shape(g, kvHeads, rows.batch, places, headDim),
      bias: prefixedBias(g, rows, bias, copies),
    },
  }
}

/** `[B, T * groups, P + T]`: a row's prompt's bias and then its own. */
function prefixedBias(g: GraphBuilder, rows: Rectangle, bias: Value, copies: Value): Value {
  const queries = g.op('Mul', [rows.time, g.i64([rows.attention.groups])])
  const perRow = g.op('Expand', [g.op('Unsqueeze', [bias, g.i64([1])]), shape(g, 1, copies, queries, 1)])
  const before = g.op('Reshape', [perRow, shape(g, rows.batch, queries, -1)])
  const own = g.op('Expand', [rows.attention.bias, shape(g, rows.batch, 1, 1)])
  return g.op('Concat', [before, own], { attrs: { axis: 2 } })
}

/** An int64 tensor of dimensions, each a number or itself int64 `[1]`. */
function shape(g: GraphBuilder, ...dims: (number | Value)[]): Value {
  const parts = dims.map((d) => (typeof d === 'number' ? g.i64([d]) : d))
  return g.op('Concat', parts, { attrs: { axis: 0 } })
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
  return g.op('Reshape', [repeated, shape(g, -1, time)])
}
