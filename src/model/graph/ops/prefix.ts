import type { Value } from '../../onnx/builder.ts'
import { type Op, plus } from '../autodiff.ts'

/** Rows that share prompts: `G` prompts of `P` places, `B / G` adjacent rows of `T` places each. Shapes are int64 tensors. */
export interface PrefixAttrs {
  kvHeads: number
  headDim: number
  /** `[kvHeads, G, 1, P * headDim]`. */
  promptShape: Value
  /** `[1, 1, B / G, 1]`. */
  copies: Value
  /** `[kvHeads, G, -1, P * headDim]`. */
  copiesShape: Value
  /** `[kvHeads, B, -1]`. */
  rowShape: Value
  /** `[P * headDim, T * headDim]`. */
  parts: Value
}

/**
 * Keys or values of prompts put before those of their rows: `prompt [kvHeads, G * P, headDim]` and `own [kvHeads, B * T, headDim]`
 * give `[kvHeads, B * (P + T), headDim]`. They are the smallest tensors of an attention: copying them for every row costs less
 * than attending to both parts and joining the scores. A prompt's gradient is the sum over its rows.
 */
export const prefix: Op<PrefixAttrs> = {
  name: 'prefix',
  emit(g, [prompt, own], { kvHeads, headDim, promptShape, copies, copiesShape, rowShape, parts }) {
    const shaped = (x: Value, shape: Value) => g.op('Reshape', [x, shape])
    const flat = g.i64([kvHeads, -1, headDim])
    const copied = g.op('Expand', [shaped(prompt!, promptShape), copies])
    const joined = g.op('Concat', [shaped(copied, rowShape), shaped(own!, rowShape)], { attrs: { axis: 2 } })
    return {
      outputs: [shaped(joined, flat)],
      pullback: ({ dy, wanted, acc }) => {
        const [before, rest] = g.ops('Split', [shaped(dy[0]!, rowShape), parts], 2, { attrs: { axis: 2 } })
        const sum = () =>
          g.op('ReduceSum', [shaped(before!, copiesShape), g.i64([2])], { attrs: { keepdims: 0 } })
        return [
          wanted[0] ? plus(g, acc[0], shaped(sum(), flat)) : null,
          wanted[1] ? plus(g, acc[1], shaped(rest!, flat)) : null,
        ]
      },
    }
  },
}
