import type { ParameterSpec } from '../config.ts'
import type { GraphBuilder, Value } from '../onnx/builder.ts'

/**
 * Scalars of one AdamW step as the graph takes them, worked out in double precision by
 * {@link adamScalars}; all rank 0.
 */
export const adamInputs = ['beta1', 'mix1', 'beta2', 'mix2', 'keep', 'rate', 'epsilon', 'max_norm'] as const

export interface AdamOptions {
  lr: number
  betas: readonly [number, number]
  eps: number
  weightDecay: number
  /** Gradients whose global norm exceeds it are scaled down to it. `Infinity` leaves them. */
  maxGradNorm: number
}

/**
 * With `c = sqrt(1 - beta2^step)`, `sqrt(v)/c + eps` equals `(sqrt(v) + eps c) / c`: the bias corrections
 * become the two scalars `epsilon` and `rate`.
 */
export function adamScalars(o: AdamOptions, step: number): Record<(typeof adamInputs)[number], number> {
  const [beta1, beta2] = o.betas
  const c = Math.sqrt(1 - beta2 ** step)
  return {
    beta1,
    mix1: 1 - beta1,
    beta2,
    mix2: 1 - beta2,
    keep: 1 - o.lr * o.weightDecay,
    rate: (o.lr / (1 - beta1 ** step)) * c,
    epsilon: o.eps * c,
    max_norm: Math.min(o.maxGradNorm, 3e38),
  }
}

/**
 * Clipping by the global norm (factor `min(1, max / (norm + 1e-6))`, as PyTorch has it) and AdamW with
 * decoupled decay (Loshchilov and Hutter 2019) on matrices only. Declares the inputs {@link adamInputs},
 * `m.NAME` and `v.NAME`, and the outputs `next.NAME`, `next.m.NAME`, `next.v.NAME` and `grad_norm`.
 */
export function emitAdamW(
  g: GraphBuilder,
  specs: readonly ParameterSpec[],
  weights: ReadonlyMap<string, Value>,
  gradients: readonly Value[],
): void {
  const [beta1, mix1, beta2, mix2, keep, rate, epsilon, maxNorm] = adamInputs.map((name) =>
    g.input(name, 'float32', []),
  )
  const mul = (a: Value, b: Value) => g.op('Mul', [a, b])
  const squares = gradients.map((grad) => mul(grad, grad))
  const sums = squares.map((s) => g.op('ReduceSum', [s], { attrs: { keepdims: 0 } }))
  const norm = g.op('Sqrt', [g.op('Sum', sums)])
  const room = g.op('Div', [maxNorm!, g.op('Add', [norm, g.f32(1e-6)])])
  const factor = g.op('Min', [room, g.f32(1)])
  const gradMix = mul(mix1!, factor)
  const squareMix = mul(mix2!, mul(factor, factor))
  for (const [i, spec] of specs.entries()) {
    const { name, shape } = spec
    const m = g.op('Add', [mul(g.input(`m.${name}`, 'float32', shape), beta1!), mul(gradients[i]!, gradMix)])
    const v = g.op('Add', [mul(g.input(`v.${name}`, 'float32', shape), beta2!), mul(squares[i]!, squareMix)])
    const move = mul(g.op('Div', [m, g.op('Add', [g.op('Sqrt', [v]), epsilon!])]), rate!)
    const from = weights.get(name)!
    const next = g.op('Sub', [spec.decay ? mul(from, keep!) : from, move])
    g.output(next, 'float32', shape, `next.${name}`)
    g.output(m, 'float32', shape, `next.m.${name}`)
    g.output(v, 'float32', shape, `next.v.${name}`)
  }
  g.output(norm, 'float32', [], 'grad_norm')
}
