import type { Value } from '../../onnx/builder.ts'
import { type Op, plus } from '../autodiff.ts'
import type { AttentionAttrs } from './attention.ts'

/** Shapes of the rows that share prompts, and of the prompts; shapes are int64 tensors. */
export interface SharedAttentionAttrs extends AttentionAttrs {
  /** `[kvHeads, G, -1, headDim]`: the queries of all rows of a prompt together. */
  sharedQueryShape: Value
  /** `[kvHeads, G, P, headDim]`. */
  sharedKeyShape: Value
  /** `[kvHeads, G, -1, P]`. */
  sharedScoreShape: Value
  /** `[kvHeads, B, -1, P]`. */
  rowScoreShape: Value
  /** `[P, T]`. */
  keyCounts: Value
  /** Additive `[G, 1, P]`: 0 at a prompt's tokens, a large negative number at its padding. */
  sharedBias: Value
}

/**
 * Attention of `B` rows to themselves, causally, and to all of the prompt that they share, `B / G` adjacent rows each. Inputs `q
 * [kvHeads, B * T, groups * headDim]`, `k` and `v [kvHeads, B * T, headDim]`, and the prompts' keys and values `[kvHeads, G * P,
 * headDim]`; the result has the shape of `q`. One softmax goes over both parts. A prompt's keys meet the queries of all its rows
 * in one product, whose gradient adds the rows up in passing.
 */
export const sharedAttention: Op<SharedAttentionAttrs> = {
  name: 'shared-attention',
  emit(g, [q, k, v, promptK, promptV], a) {
    const { kvHeads, groups, headDim } = a
    const product = (x: Value, y: Value, attrs: Record<string, number | { float: number }> = {}) =>
      g.op('FusedMatMul', [x, y], { domain: 'com.microsoft', attrs })
    const shaped = (x: Value, shape: Value) => g.op('Reshape', [x, shape])
    const joined = (shared: Value, own: Value) =>
      g.op('Concat', [shaped(shared, a.rowScoreShape), own], { attrs: { axis: -1 } })
    const parted = (x: Value) => {
      const [shared, own] = g.ops('Split', [x, a.keyCounts], 2, { attrs: { axis: -1 } })
      return { shared: shaped(shared!, a.sharedScoreShape), own: own! }
    }
    const alpha = { float: 1 / Math.sqrt(headDim) }
    const queries = { own: shaped(q!, a.queryShape), shared: shaped(q!, a.sharedQueryShape) }
    const keys = { own: shaped(k!, a.keyShape), shared: shaped(promptK!, a.sharedKeyShape) }
    const values = { own: shaped(v!, a.keyShape), shared: shaped(promptV!, a.sharedKeyShape) }
    const flatQuery = g.i64([kvHeads, -1, groups * headDim])
    const flatKey = g.i64([kvHeads, -1, headDim])

    const toShared = g.op('Add', [product(queries.shared, keys.shared, { transB: 1, alpha }), a.sharedBias])
    const toOwn = g.op('Add', [product(queries.own, keys.own, { transB: 1, alpha }), a.bias])
    const p = g.op('Softmax', [joined(toShared, toOwn)], { attrs: { axis: -1 } })
    const weights = parted(p)
    const fromShared = shaped(product(weights.shared, values.shared), flatQuery)
    const o = g.op('Add', [fromShared, shaped(product(weights.own, values.own), flatQuery)])
    return {
      outputs: [o],
      pullback: ({ dy, wanted, acc }) => {
        const dO = { own: shaped(dy[0]!, a.queryShape), shared: shaped(dy[0]!, a.sharedQueryShape) }
        const dP = joined(
          product(dO.shared, values.shared, { transB: 1 }),
          product(dO.own, values.own, { transB: 1 }),
        )
        const o4 = shaped(o, a.queryShape)
        const rowSum = g.op('ReduceSum', [g.op('Mul', [dO.own, o4]), g.i64([-1])], { attrs: { keepdims: 1 } })
        const dS = parted(g.op('Mul', [g.op('Sub', [dP, rowSum]), p]))
        const total = (i: number, shape: Value, make: () => Value) =>
          wanted[i] ? plus(g, acc[i], shaped(make(), shape)) : null
        const dQ = () => {
          const shared = shaped(product(dS.shared, keys.shared, { alpha }), a.queryShape)
          return g.op('Add', [shared, product(dS.own, keys.own, { alpha })])
        }
        return [
          total(0, flatQuery, dQ),
          total(1, flatKey, () => product(dS.own, queries.own, { transA: 1, alpha })),
          total(2, flatKey, () => product(weights.own, dO.own, { transA: 1 })),
          total(3, flatKey, () => product(dS.shared, queries.shared, { transA: 1, alpha })),
          total(4, flatKey, () => product(weights.shared, dO.shared, { transA: 1 })),
        ]
      },
    }
  },
}
