import type { GraphBuilder, Value } from '../../onnx/builder.ts'
import { type Op, plus } from '../autodiff.ts'
import { gemm } from './linear.ts'

export interface HeadsAttrs {
  heads: number
  /** Columns of one head (for queries: all query heads that share one key head). */
  width: number
  /** See {@link headOrder}. */
  order: Value
}

/**
 * Where the rows of `[N, heads, width]` lie in `[heads, N, width]`, `[N * heads]`. Rows gathered by it are moved by all
 * threads, where a transposition of the first two axes takes one.
 */
export function headOrder(g: GraphBuilder, rows: Value, heads: number): Value {
  const row = g.op('Range', [g.i64(0), rows, g.i64(1)])
  const head = g.op('Mul', [g.i64(Array.from({ length: heads }, (_, h) => h)), rows])
  const order = g.op('Add', [g.op('Unsqueeze', [row, g.i64([1])]), head])
  return g.op('Reshape', [order, g.i64([-1])])
}

/** `[heads, N, width]` to `[N, heads * width]`. */
function joinHeads(g: GraphBuilder, x: Value, { heads, width, order }: HeadsAttrs): Value {
  const rows = g.op('Reshape', [x, g.i64([-1, width])])
  if (heads === 1) return rows
  return g.op('Reshape', [g.op('Gather', [rows, order], { attrs: { axis: 0 } }), g.i64([-1, heads * width])])
}

/**
 * `x [N, in] @ w [heads * width, in]^T`, delivered head by head as `[heads, N, width]`: no rearranging of the result.
 */
export const headsLinear: Op<HeadsAttrs> = {
  name: 'heads-linear',
  emit(g, [x, w], attrs) {
    const { heads, width } = attrs
    const perHead = g.op('Reshape', [w!, g.i64([heads, width, -1])])
    return {
      outputs: [g.op('FusedMatMul', [x!, perHead], { domain: 'com.microsoft', attrs: { transB: 1 } })],
      pullback: ({ dy, wanted, acc }) => {
        const joined = joinHeads(g, dy[0]!, attrs)
        return [
          wanted[0] ? plus(g, acc[0], gemm(g, joined, w!)) : null,
          wanted[1] ? gemm(g, joined, x!, { transA: true, plus: acc[1] }) : null,
        ]
      },
    }
  },
}

/** `o [heads, N, width]` joined to `[N, heads * width]`, times `w [heads * width, out]`. */
export const joinLinear: Op<HeadsAttrs> = {
  name: 'join-linear',
  emit(g, [o, w], attrs) {
    const { heads, width } = attrs
    const joined = joinHeads(g, o!, attrs)
    return {
      outputs: [gemm(g, joined, w!)],
      pullback: ({ dy, wanted, acc }) => {
        const perHead = g.op('Reshape', [w!, g.i64([heads, width, -1])])
        const own = g.op('FusedMatMul', [dy[0]!, perHead], { domain: 'com.microsoft', attrs: { transB: 1 } })
        return [
          wanted[0] ? plus(g, acc[0], own) : null,
          wanted[1] ? gemm(g, joined, dy[0]!, { transA: true, plus: acc[1] }) : null,
        ]
      },
    }
  },
}
