import { type Op, plus, zerosLike } from '../autodiff.ts'
import { gemm } from './linear.ts'

/** Above this many rows the table's gradient is scattered row by row instead of multiplied out. */
const oneHotLimit = 1024

/**
 * Rows of `table [rows, width]` by `ids [N]` (int32 or int64). Ids repeat, so the gradient adds up: as a
 * one-hot product for small tables, as an ordered scatter (`ScatterElements`, which runs in one thread and
 * is therefore deterministic) for large ones.
 */
export const embedding: Op<{ rows: number; width: number }> = {
  name: 'embedding',
  emit(g, [table, ids], { rows, width }) {
    return {
      outputs: [g.op('Gather', [table!, ids!], { attrs: { axis: 0 } })],
      pullback: ({ dy, acc }) => {
        if (rows <= oneHotLimit) {
          // Rows of an identity matrix, which onnxruntime makes once: three times as fast as its OneHot.
          const zeros = g.op('ConstantOfShape', [g.i64([rows, rows])])
          const oneHot = g.op('Gather', [g.op('EyeLike', [zeros]), ids!], { attrs: { axis: 0 } })
          return [gemm(g, oneHot, dy[0]!, { transA: true, plus: acc[0] }), null]
        }
        const base = acc[0] ?? zerosLike(g, table!)
        const column = g.op('Unsqueeze', [ids!, g.i64([1])])
        const index = g.op('Expand', [column, g.i64([1, width])])
        const attrs = { axis: 0, reduction: 'add' }
        return [g.op('ScatterElements', [base, index, dy[0]!], { attrs }), null]
      },
    }
  },
}

/** Rows of `x [N, width]` by distinct `ids [M]` (int64). */
export const pickRows: Op<null> = {
  name: 'pick-rows',
  emit(g, [x, ids]) {
    return {
      outputs: [g.op('Gather', [x!, ids!], { attrs: { axis: 0 } })],
      pullback: ({ dy, acc }) => {
        const index = g.op('Unsqueeze', [ids!, g.i64([1])])
        return [plus(g, acc[0], g.op('ScatterND', [zerosLike(g, x!), index, dy[0]!])), null]
      },
    }
  },
}
