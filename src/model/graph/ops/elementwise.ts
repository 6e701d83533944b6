import { type Op, plus, zerosLike } from '../autodiff.ts'

/** `a + b` of equal shapes. */
export const add: Op<null> = {
  name: 'add',
  emit(g, [a, b]) {
    return {
      outputs: [g.op('Add', [a!, b!])],
      pullback: ({ dy, wanted, acc }) => wanted.map((want, i) => (want ? plus(g, acc[i], dy[0]!) : null)),
    }
  },
}

/** `x * s` with a scalar `s` that has no gradient of its own. */
export const scale: Op<null> = {
  name: 'scale',
  emit(g, [x, s]) {
    return {
      outputs: [g.op('Mul', [x!, s!])],
      pullback: ({ dy, acc }) => [plus(g, acc[0], g.op('Mul', [dy[0]!, s!])), null],
    }
  },
}

/**
 * A weight matrix with a norm's gain `[in]` multiplied into the side that the normalized vector meets:
 * rows of `[in, out]`, or columns of `[out, in]`. Folding costs one pass over the weight where scaling
 * the activations costs several over a much larger tensor.
 */
export const foldGain: Op<{ side: 'rows' | 'columns' }> = {
  name: 'fold-gain',
  emit(g, [w, gain], { side }) {
    const factor = side === 'rows' ? g.op('Unsqueeze', [gain!, g.i64([1])]) : gain!
    return {
      outputs: [g.op('Mul', [w!, factor])],
      pullback: ({ dy, wanted, acc }) => {
        const axis = g.i64([side === 'rows' ? 1 : 0])
        const dGain = () => g.op('ReduceSum', [g.op('Mul', [dy[0]!, w!]), axis], { attrs: { keepdims: 0 } })
        return [
          wanted[0] ? plus(g, acc[0], g.op('Mul', [dy[0]!, factor])) : null,
          wanted[1] ? plus(g, acc[1], dGain()) : null,
        ]
      },
    }
  },
}

/** A tensor cut into blocks along its first axis. */
export const splitFirst: Op<{ sizes: readonly number[] }> = {
  name: 'split-first',
  emit(g, [x], { sizes }) {
    const outputs = g.ops('Split', [x!, g.i64(sizes)], sizes.length, { attrs: { axis: 0 } })
    return {
      outputs,
      pullback: ({ dy, acc }) => {
        const parts = dy.map((d, i) => d ?? zerosLike(g, outputs[i]!))
        return [plus(g, acc[0], g.op('Concat', parts, { attrs: { axis: 0 } }))]
      },
    }
  },
}
