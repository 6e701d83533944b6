import { type ModelConfig, type ParameterSpec, parameters } from '../config.ts'
import { GraphBuilder } from '../onnx/builder.ts'

export type WeightSpec = Pick<ParameterSpec, 'name' | 'shape'>

/**
 * The weights as the decode graphs take them: the parameters, but with every matrix `[out, in]`, and `gate_up` as `gate` and
 * `up`. onnxruntime multiplies a few rows by matrices so laid out up to a third faster, and the product of gate and up needs
 * not be cut. The embedding is so already.
 */
export function decodeWeights(config: ModelConfig): WeightSpec[] {
  return parameters(config).flatMap((p): WeightSpec[] => {
    if (!isMatrix(p)) return [p]
    const [rows, columns] = p.shape as [number, number]
    if (!p.name.endsWith('.gate_up')) return [{ name: p.name, shape: [columns, rows] }]
    return gateAndUp(p.name).map((name) => ({ name, shape: [columns / 2, rows] }))
  })
}

/** `layout`: the matrices among the parameters in, those of {@link decodeWeights} out, under `laid.NAME`. */
export function layoutGraph(config: ModelConfig): GraphBuilder {
  const g = new GraphBuilder('layout')
  const shapes = new Map(decodeWeights(config).map((p) => [p.name, p.shape]))
  for (const p of parameters(config).filter(isMatrix)) {
    const given = g.input(p.name, 'float32', p.shape)
    const split = p.name.endsWith('.gate_up')
    const parts = split ? g.ops('Split', [given], 2, { attrs: { axis: 1 } }) : [given]
    for (const [i, name] of (split ? gateAndUp(p.name) : [p.name]).entries()) {
      const laid = g.op('Transpose', [parts[i]!], { attrs: { perm: [1, 0] } })
      g.output(laid, 'float32', shapes.get(name)!, `laid.${name}`)
    }
  }
  return g
}

export function isMatrix({ name, shape }: WeightSpec): boolean {
  return shape.length === 2 && name !== 'embed'
}

function gateAndUp(name: string): [string, string] {
  const layer = name.slice(0, -'gate_up'.length)
  return [`${layer}gate`, `${layer}up`]
}
