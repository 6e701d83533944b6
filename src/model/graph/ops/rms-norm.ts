import { type Op, plus } from '../autodiff.ts'

/**
 * `x / sqrt(mean(x^2) + eps)` over the last axis of `[N, width]`, without the gain (see `foldGain`).
 * With `y` the result and `r` the reciprocal root: `dx = r * (dy - y * mean(dy * y))`.
 */
export const rmsNorm: Op<{ width: number; eps: number }> = {
  name: 'rms-norm',
  emit(g, [x], { width, eps }) {
    const ones = g.constant('float32', new Float32Array(width).fill(1), [width])
    const [y, r] = g.ops('SimplifiedLayerNormalization', [x!, ones], 2, {
      attrs: { axis: -1, epsilon: { float: eps }, stash_type: 1 },
    })
    return {
      outputs: [y!],
      pullback: ({ dy, acc }) => {
        const mean = g.op('ReduceMean', [g.op('Mul', [dy[0]!, y!])], { attrs: { axes: [-1] } })
        const inner = g.op('Sub', [dy[0]!, g.op('Mul', [y!, mean])])
        return [plus(g, acc[0], g.op('Mul', [inner, r!]))]
      },
    }
  },
}
