import { type Op, plus } from '../autodiff.ts'

/**
 * Log-softmax of `logits [M, V]`. Outputs: the log-probability of `targets [M]` (int64), and the entropy
 * `[M]` of each row, which has no gradient. `dLogits = dy * (oneHot(target) - softmax)`.
 */
export const targetLogProbs: Op<null> = {
  name: 'target-log-probs',
  emit(g, [logits, targets]) {
    const all = g.op('LogSoftmax', [logits!], { attrs: { axis: -1 } })
    const p = g.op('Exp', [all])
    const column = g.op('Unsqueeze', [targets!, g.i64([1])])
    const picked = g.op('GatherElements', [all, column], { attrs: { axis: 1 } })
    const negEntropy = g.op('ReduceSum', [g.op('Mul', [p, all]), g.i64([1])], { attrs: { keepdims: 0 } })
    return {
      outputs: [g.op('Squeeze', [picked, g.i64([1])]), g.op('Neg', [negEntropy])],
      pullback: ({ dy, acc }) => {
        const dColumn = g.op('Unsqueeze', [dy[0]!, g.i64([1])])
        const spread = g.op('Mul', [p, g.op('Neg', [dColumn])])
        const attrs = { axis: 1, reduction: 'add' }
        return [plus(g, acc[0], g.op('ScatterElements', [spread, column, dColumn], { attrs })), null]
      },
    }
  },
}
