import type { GraphBuilder, Value } from '../../onnx/builder.ts'
import { type Op, plus } from '../autodiff.ts'

export interface RopeTables {
  cos: Value
  sin: Value
  /** The sines negated: turning back. */
  sinBack: Value
}

export interface RopeAttrs {
  tables: RopeTables
  /** int64 `[heads * B, T]`. @default every sequence starts at position 0 */
  positions?: Value | undefined
  /** `[-1, T, width]`, as an int64 tensor: rows of one sequence together. */
  sequenceShape: Value
  /** `[heads, -1, width]`. */
  headsShape: Value
}

/** Angles `position * theta^(-2i / headDim)` for the first `positions` places, in double precision. */
export function ropeTables(
  g: GraphBuilder,
  o: { positions: number; headDim: number; theta: number },
): RopeTables {
  const half = o.headDim / 2
  const angles = Array.from({ length: o.positions * half }, (_, k) => {
    const position = Math.floor(k / half)
    return position * o.theta ** (-(k % half) / half)
  })
  const table = (f: (angle: number) => number) =>
    g.constant('float32', Float32Array.from(angles, f), [o.positions, half])
  return { cos: table(Math.cos), sin: table(Math.sin), sinBack: table((a) => -Math.sin(a)) }
}

/**
 * Rotary positions (halves paired, as in Llama) on `[heads, N, width]`, where a row may hold several heads
 * side by side. The gradient is the rotation back.
 */
export const rope: Op<RopeAttrs> = {
  name: 'rope',
  emit(g, [x], { tables, positions = g.i64([0]), sequenceShape, headsShape }) {
    const turn = (v: Value, sin: Value) => {
      const rows = g.op('Reshape', [v, sequenceShape])
      const turned = g.op('RotaryEmbedding', [rows, positions, tables.cos, sin], { domain: 'com.microsoft' })
      return g.op('Reshape', [turned, headsShape])
    }
    return {
      outputs: [turn(x!, tables.sin)],
      pullback: ({ dy, acc }) => [plus(g, acc[0], turn(dy[0]!, tables.sinBack))],
    }
  },
}
