import type { Value } from '../../onnx/builder.ts'
import { type Op, plus } from '../autodiff.ts'

export interface AttentionAttrs {
  kvHeads: number
  /** Query heads that share one key head. */
  groups: number
  headDim: number
  /** `[kvHeads, B, T * groups, headDim]` as an int64 tensor. */
  queryShape: Value
  /** `[kvHeads, B, S, headDim]` as an int64 tensor: `S` is `T`, or more where something stands before the rows. */
  keyShape: Value
  /** Additive `[T * groups, S]`, or the same for each of `B`: 0 where a query may look, a large negative number elsewhere. */
  bias: Value
}

/**
 * Attention. Inputs `q [kvHeads, B * T, groups * headDim]`, `k` and `v [kvHeads, B * S, headDim]`; the result
 * has the shape of `q`. The query heads of one key head are rows of one product, so grouped-query attention
 * needs no repeated keys and its key gradient no extra sum. `sum(dP * P)` is taken as `sum(dO * O)`, the
 * smaller of the two (FlashAttention, Dao et al. 2022, appendix B).
 */
export const attention: Op<AttentionAttrs> = {
  name: 'attention',
  emit(g, [q, k, v], { kvHeads, groups, headDim, queryShape, keyShape, bias }) {
    const product = (a: Value, b: Value, attrs: Record<string, number | { float: number }>) =>
      g.op('FusedMatMul', [a, b], { domain: 'com.microsoft', attrs })
    const alpha = { float: 1 / Math.sqrt(headDim) }
    const q4 = g.op('Reshape', [q!, queryShape])
    const k4 = g.op('Reshape', [k!, keyShape])
    const v4 = g.op('Reshape', [v!, keyShape])
    const flatQuery = g.i64([kvHeads, -1, groups * headDim])
    const flatKey = g.i64([kvHeads, -1, headDim])
    const scores = g.op('Add', [product(q4, k4, { transB: 1, alpha }), bias])
    const p = g.op('Softmax', [scores], { attrs: { axis: -1 } })
    const o4 = g.op('MatMul', [p, v4])
    return {
      outputs: [g.op('Reshape', [o4, flatQuery])],
      pullback: ({ dy, wanted, acc }) => {
        const dO = g.op('Reshape', [dy[0]!, queryShape])
        const dP = product(dO, v4, { transB: 1 })
        const rowSum = g.op('ReduceSum', [g.op('Mul', [dO, o4]), g.i64([-1])], { attrs: { keepdims: 1 } })
        const dS = g.op('Mul', [g.op('Sub', [dP, rowSum]), p])
        const flat = (value: Value, shape: Value) => g.op('Reshape', [value, shape])
        return [
          wanted[0] ? plus(g, acc[0], flat(product(dS, k4, { alpha }), flatQuery)) : null,
          wanted[1] ? plus(g, acc[1], flat(product(dS, q4, { transA: 1, alpha }), flatKey)) : null,
          wanted[2] ? plus(g, acc[2], flat(product(p, dO, { transA: 1 }), flatKey)) : null,
        ]
      },
    }
  },
}
