import type { GraphBuilder, Value } from '../../onnx/builder.ts'
import { type Op, plus } from '../autodiff.ts'

/**
 * `A @ B (+ C)` of matrices, either side transposed in place. For a `C` as small as a weight: it is copied by one thread before
 * all of them multiply, so that a large one is cheaper added by {@link plus} afterwards.
 */
export function gemm(
  g: GraphBuilder,
  a: Value,
  b: Value,
  o: { transA?: boolean; transB?: boolean; plus?: Value | null } = {},
): Value {
  return g.op('Gemm', o.plus ? [a, b, o.plus] : [a, b], {
    attrs: { transA: o.transA ? 1 : undefined, transB: o.transB ? 1 : undefined },
  })
}

/** `x [N, in] @ w [in, out]`. */
export const linear: Op<null> = {
  name: 'linear',
  emit(g, [x, w]) {
    return {
      outputs: [gemm(g, x!, w!)],
      pullback: ({ dy, wanted, acc }) => [
        wanted[0] ? plus(g, acc[0], gemm(g, dy[0]!, w!, { transB: true })) : null,
        wanted[1] ? gemm(g, x!, dy[0]!, { transA: true, plus: acc[1] }) : null,
      ],
    }
  },
}

/** `x [N, in] @ w [out, in]^T`: logits from tied embeddings. */
export const linearTransposed: Op<null> = {
  name: 'linear-transposed',
  emit(g, [x, w]) {
    return {
      outputs: [gemm(g, x!, w!, { transB: true })],
      pullback: ({ dy, wanted, acc }) => [
        wanted[0] ? plus(g, acc[0], gemm(g, dy[0]!, w!)) : null,
        wanted[1] ? gemm(g, dy[0]!, x!, { transA: true, plus: acc[1] }) : null,
      ],
    }
  },
}
