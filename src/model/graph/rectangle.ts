import type { ModelConfig } from '../config.ts'
import type { GraphBuilder, Value } from '../onnx/builder.ts'
import type { AttentionAttrs } from './ops/attention.ts'
import { headOrder } from './ops/heads.ts'
import type { RopeAttrs, RopeTables } from './ops/rope.ts'
import type { SharedAttentionAttrs } from './ops/shared-attention.ts'

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

export function sharedShapes(
  g: GraphBuilder,
  rows: Rectangle,
  prompts: Rectangle,
  bias: Value,
): SharedAttentionAttrs {
  const { kvHeads, headDim } = rows.attention
  return {
    ...rows.attention,
    sharedQueryShape: shape(g, kvHeads, prompts.batch, -1, headDim),
    sharedKeyShape: prompts.attention.keyShape,
    sharedScoreShape: shape(g, kvHeads, prompts.batch, -1, prompts.time),
    rowScoreShape: shape(g, kvHeads, rows.batch, -1, prompts.time),
    keyCounts: shape(g, prompts.time, rows.time),
    sharedBias: bias,
  }
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
