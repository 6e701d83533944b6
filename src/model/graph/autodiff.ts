import type { GraphBuilder, Value } from '../onnx/builder.ts'

/**
 * Reverse-mode differentiation at graph-building time. An operator emits its forward nodes and hands back a
 * `pullback` that emits its gradient nodes; a {@link Tape} remembers the calls and replays them backwards.
 */

/** A tensor on a tape. Untracked ones (token ids, constants) receive no gradient. */
export interface Var {
  readonly value: Value
  readonly tracked: boolean
}

/** What a pullback may use: which inputs want a gradient, and what those already have from other uses. */
export interface Pull {
  /** Gradient of the loss by each output; `null` where nothing downstream used it. */
  readonly dy: readonly (Value | null)[]
  readonly wanted: readonly boolean[]
  /** Gradient collected so far. The pullback returns the total, so that a Gemm can add it in passing. */
  readonly acc: readonly (Value | null)[]
}

export interface Emission {
  readonly outputs: readonly Value[]
  /** The total gradient of each input (`acc` included); `null` for inputs that are not wanted. */
  pullback(pull: Pull): readonly (Value | null)[]
}

/** A differentiable operator. */
export interface Op<A> {
  readonly name: string
  emit(g: GraphBuilder, inputs: readonly Value[], attrs: A): Emission
}

interface Entry {
  readonly inputs: readonly Var[]
  readonly outputs: readonly Var[]
  readonly emission: Emission
}

export class Tape {
  readonly g: GraphBuilder
  readonly #entries: Entry[] = []

  constructor(g: GraphBuilder) {
    this.g = g
  }

  /** A leaf that gradients are wanted for. */
  leaf(value: Value): Var {
    return { value, tracked: true }
  }

  /** A tensor without a gradient. */
  constant(value: Value): Var {
    return { value, tracked: false }
  }

  apply<A>(op: Op<A>, inputs: readonly Var[], attrs: A): Var[] {
    // A pullback returns one total per input place; the same variable twice would lose one of them.
    if (new Set(inputs).size < inputs.length) throw new Error(`${op.name}: one variable given twice`)
    const emission = op.emit(
      this.g,
      inputs.map((v) => v.value),
      attrs,
    )
    const tracked = inputs.some((v) => v.tracked)
    const outputs = emission.outputs.map((value) => ({ value, tracked }))
    if (tracked) this.#entries.push({ inputs, outputs, emission })
    return outputs
  }

  /** {@link apply} for the first output. */
  call<A>(op: Op<A>, inputs: readonly Var[], attrs: A): Var {
    return this.apply(op, inputs, attrs)[0]!
  }

  /**
   * Emits the gradients of `sum(output * seed)` by each of `wrt`. A leaf that the output does not depend
   * on is an error: its update would silently never happen. Gradients start from `initial` where given.
   */
  gradients(output: Var, seed: Value, wrt: readonly Var[], initial: readonly Value[] = []): Value[] {
    const grads = new Map<Var, Value>([[output, seed]])
    for (const [i, value] of initial.entries()) grads.set(wrt[i]!, value)
    for (const { inputs, outputs, emission } of this.#entries.toReversed()) {
      const dy = outputs.map((v) => grads.get(v) ?? null)
      if (dy.every((d) => d === null)) continue
      const total = emission.pullback({
        dy,
        wanted: inputs.map((v) => v.tracked),
        acc: inputs.map((v) => grads.get(v) ?? null),
      })
      for (const [i, v] of inputs.entries()) {
        const grad = total[i]
        if (v.tracked && grad) grads.set(v, grad)
      }
    }
    return wrt.map((v) => {
      const grad = grads.get(v)
      if (!grad) throw new Error(`no gradient reaches ${v.value.name}`)
      return grad
    })
  }
}

/** `acc + value`, or just `value` when nothing was collected yet. */
export function plus(g: GraphBuilder, acc: Value | null | undefined, value: Value): Value {
  return acc ? g.op('Add', [acc, value]) : value
}

/** Zeros (float32) in the shape of `value`. */
export function zerosLike(g: GraphBuilder, value: Value): Value {
  return g.op('ConstantOfShape', [g.op('Shape', [value])])
}
