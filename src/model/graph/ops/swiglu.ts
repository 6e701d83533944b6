import { type Op, plus } from '../autodiff.ts'

/**
 * `silu(gate) * up` of equal shapes, `silu(x) = x * s(x)` with the logistic `s`. With `h` the result:
 * `dGate = dh * (h + s * (up - h))` and `dUp = dh * gate * s`.
 */
export const swiglu: Op<null> = {
  name: 'swiglu',
  emit(g, [gate, up]) {
    const s = g.op('Sigmoid', [gate!])
    const a = g.op('Mul', [gate!, s])
    const h = g.op('Mul', [a, up!])
    return {
      outputs: [h],
      pullback: ({ dy, wanted, acc }) => {
        const slope = () => g.op('Add', [g.op('Mul', [g.op('Sub', [up!, h]), s]), h])
        return [
          wanted[0] ? plus(g, acc[0], g.op('Mul', [slope(), dy[0]!])) : null,
          wanted[1] ? plus(g, acc[1], g.op('Mul', [a, dy[0]!])) : null,
        ]
      },
    }
  },
}
