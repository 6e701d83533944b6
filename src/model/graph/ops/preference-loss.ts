import type { Value } from '../../onnx/builder.ts'
import { type Op, plus } from '../autodiff.ts'

export interface PreferenceLossAttrs {
  /** Normaliser of each pair `[P]`. */
  weights: Value
  /** Rank 0: weight of `(chosen + rejected)^2`, which keeps rewards near 0; the loss alone fixes differences only. */
  centering: Value
}

/**
 * The Bradley-Terry loss of pairs, `sum_p w (-log sigmoid(c - r) + centering (c + r)^2)` (Bradley and Terry 1952; as the loss of a
 * reward model in Ouyang et al. 2022, eq. 1; the centring is that of Eisenstein et al. 2023).
 *
 * Input: rewards `[2P, 1]`, each chosen text before the one it was preferred to. Outputs: loss (rank 0), then the sums over pairs of
 * those with `c > r`, of `c - r`, and of `c + r`. Only the loss has a gradient.
 */
export const preferenceLoss: Op<PreferenceLossAttrs> = {
  name: 'preference-loss',
  emit(g, [rewards], { weights, centering }) {
    const sum = (v: Value) => g.op('ReduceSum', [v], { attrs: { keepdims: 0 } })
    const column = (v: Value) => g.op('Squeeze', [v, g.i64([1])])
    const pairs = g.op('Reshape', [rewards!, g.i64([-1, 2])])
    const [chosen, rejected] = g.ops('Split', [pairs, g.i64([1, 1])], 2, { attrs: { axis: 1 } }).map(column)
    const margin = g.op('Sub', [chosen!, rejected!])
    const both = g.op('Add', [chosen!, rejected!])
    const opposite = g.op('Neg', [margin])
    const off = g.op('Mul', [both, centering])
    const each = g.op('Add', [g.op('Softplus', [opposite]), g.op('Mul', [off, both])])
    const right = g.op('Cast', [g.op('Greater', [chosen!, rejected!])], { attrs: { to: 1 } })
    return {
      outputs: [sum(g.op('Mul', [each, weights])), sum(right), sum(margin), sum(both)],
      pullback: ({ dy, acc }) => {
        const weighted = g.op('Mul', [weights, dy[0]!])
        const pull = g.op('Sigmoid', [opposite])
        const center = g.op('Add', [off, off])
        const rows = [g.op('Sub', [center, pull]), g.op('Add', [center, pull])].map((v) =>
          g.op('Unsqueeze', [g.op('Mul', [v, weighted]), g.i64([1])]),
        )
        const joined = g.op('Concat', rows, { attrs: { axis: 1 } })
        return [plus(g, acc[0], g.op('Reshape', [joined, g.i64([-1, 1])]))]
      },
    }
  },
}
