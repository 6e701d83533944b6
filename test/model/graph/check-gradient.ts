import ort from 'onnxruntime-node'
import { GraphBuilder, type NodeOptions, type Value } from '../../../src/model/onnx/builder.ts'
import { oneThread } from '../tiny.ts'
import { numbers, type OpCase } from './cases.ts'

/** A builder whose node number `fault`, counted from {@link arm}, gives its result with the wrong sign. */
export class FaultyBuilder extends GraphBuilder {
  readonly fault: number
  /** Types of the nodes emitted since {@link arm}. */
  armed: string[] | undefined

  constructor(fault = -1) {
    super('faulty')
    this.fault = fault
  }

  arm(): void {
    this.armed = []
  }

  override ops(
    type: string,
    inputs: readonly (Value | null)[],
    outputs: number,
    options: NodeOptions = {},
  ): Value[] {
    const values = super.ops(type, inputs, outputs, options)
    if (this.armed === undefined) return values
    this.armed.push(type)
    if (this.armed.length - 1 !== this.fault) return values
    return values.map((v) => super.ops('Neg', [v], 1)[0]!)
  }
}

type Feeds = Record<string, ort.Tensor>

function feeds({ inputs, outputs }: OpCase): Feeds {
  const given = inputs.map((input, i) => {
    const tensor =
      'ids' in input
        ? new ort.Tensor('int64', BigInt64Array.from(input.ids, BigInt), input.shape)
        : new ort.Tensor('float32', input.values.slice(), input.shape)
    return [`x${i}`, tensor] as const
  })
  const seeds = outputs.flatMap((shape, i) =>
    shape ? [[`dy${i}`, new ort.Tensor('float32', numbers(count(shape), 100 + i), shape)] as const] : [],
  )
  return Object.fromEntries([...given, ...seeds])
}

function collected({ inputs }: OpCase): Feeds {
  const tensors = inputs.map((input, i) => [
    `acc${i}`,
    new ort.Tensor('float32', numbers(count(input.shape), 200 + i), input.shape),
  ])
  return Object.fromEntries(tensors) as Feeds
}

const count = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1)

/** The forward nodes, and behind them, where `withAcc` is given, the gradient nodes. */
function build(c: OpCase, fault: number, withAcc?: boolean): FaultyBuilder {
  const g = new FaultyBuilder(fault)
  const xs = c.inputs.map((input, i) => g.input(`x${i}`, 'ids' in input ? 'int64' : 'float32', input.shape))
  const { outputs, pullback } = c.op.emit(g, xs, c.attrs(g) as never)
  if (withAcc === undefined) {
    for (const [i, shape] of c.outputs.entries()) if (shape) g.output(outputs[i]!, 'float32', shape, `y${i}`)
    return g
  }
  const dy = c.outputs.map((shape, i) => (shape ? g.input(`dy${i}`, 'float32', shape) : null))
  const wanted = c.inputs.map((input) => input.wanted)
  const acc = c.inputs.map((input, i) =>
    withAcc && input.wanted ? g.input(`acc${i}`, 'float32', input.shape) : null,
  )
  g.arm()
  const dx = pullback({ dy, wanted, acc })
  g.armed = g.armed!.slice()
  const nodes = g.armed
  g.armed = undefined
  for (const [i, input] of c.inputs.entries()) {
    if (input.wanted) g.output(dx[i]!, 'float32', input.shape, `dx${i}`)
  }
  g.armed = nodes
  return g
}

async function run(g: GraphBuilder, given: Feeds): Promise<(changed: Feeds) => Promise<Feeds>> {
  const session = await ort.InferenceSession.create(g.toModel(), { ...oneThread, logSeverityLevel: 4 })
  const known = Object.fromEntries(
    Object.entries(given).filter(([name]) => session.inputNames.includes(name)),
  )
  return async (changed) => (await session.run({ ...known, ...changed })) as Feeds
}

export type Gradients = (Float64Array | null)[]

/** Gradients of `sum(outputs * dy)` by fourth-order central differences, summed in double precision. */
export async function numericGradients(c: OpCase): Promise<Gradients> {
  const given = feeds(c)
  const forward = await run(build(c, -1), given)
  const lossAt = async (name: string, tensor: ort.Tensor) => {
    const out = await forward({ [name]: tensor })
    let sum = 0
    for (const i of c.outputs.keys()) {
      const [y, dy] = [out[`y${i}`]?.data, given[`dy${i}`]?.data] as (Float32Array | undefined)[]
      if (y && dy) for (const [k, value] of y.entries()) sum += value * dy[k]!
    }
    return sum
  }
  const h = 1 / 32
  const gradients: Gradients = []
  for (const [i, input] of c.inputs.entries()) {
    if (!input.wanted) {
      gradients.push(null)
      continue
    }
    const gradient = new Float64Array(input.values.length)
    for (const k of gradient.keys()) {
      const at = (offset: number) => {
        const moved = input.values.slice()
        moved[k] = moved[k]! + offset
        return lossAt(`x${i}`, new ort.Tensor('float32', moved, input.shape))
      }
      const near = (await at(h)) - (await at(-h))
      const far = (await at(2 * h)) - (await at(-2 * h))
      gradient[k] = (8 * near - far) / (12 * h)
    }
    gradients.push(gradient)
  }
  return gradients
}

/**
 * The largest difference between the operator's own gradients and `numeric`, relative to the largest entry of that
 * input's gradient. With `withAcc` the operator adds to gradients that were there before.
 */
export async function gradientError(
  c: OpCase,
  numeric: Gradients,
  o: { withAcc: boolean; fault?: number },
): Promise<{ error: number; nodes: readonly string[] }> {
  const g = build(c, o.fault ?? -1, o.withAcc)
  const acc = collected(c)
  const out = await (await run(g, { ...feeds(c), ...acc }))({})
  let error = 0
  for (const [i, expected] of numeric.entries()) {
    if (!expected) continue
    const base = o.withAcc ? (acc[`acc${i}`]!.data as Float32Array) : undefined
    const size = expected.reduce((most, v) => Math.max(most, Math.abs(v)), 0)
    for (const [k, got] of (out[`dx${i}`]!.data as Float32Array).entries()) {
      error = Math.max(error, Math.abs(got - (base?.[k] ?? 0) - expected[k]!) / size)
    }
  }
  return { error, nodes: g.armed! }
}
