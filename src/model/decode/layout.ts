import ort from 'onnxruntime-node'
import { type ModelConfig, type ParameterSpec, parameters } from '../config.ts'
import { GraphBuilder } from '../onnx/builder.ts'
import type { Tensors } from '../train/sessions.ts'

export type WeightSpec = Pick<ParameterSpec, 'name' | 'shape'>

/**
 * The weights as the decode graphs take them: the parameters, but with every matrix `[out, in]`, and `gate_up` as `gate` and
 * `up`. onnxruntime multiplies a few rows by matrices so laid out up to a third faster, and the product of gate and up needs
 * not be cut.
 */
export function decodeWeights(config: ModelConfig): WeightSpec[] {
  return parameters(config).flatMap(({ name, shape }): WeightSpec[] => {
    const [rows, columns] = shape as [number, number]
    if (isTransposed(name)) return [{ name, shape: [columns, rows] }]
    return isCut(name)
      ? gateAndUp(name).map((part) => ({ name: part, shape: [rows / 2, columns] }))
      : [{ name, shape }]
  })
}

/** The parameters that {@link layoutGraph} takes. */
export function transposedWeights(config: ModelConfig): ParameterSpec[] {
  return parameters(config).filter(({ name }) => isTransposed(name))
}

/** `layout`: each of {@link transposedWeights} in, the same out as `laid.NAME`. */
export function layoutGraph(config: ModelConfig): GraphBuilder {
  const g = new GraphBuilder('layout')
  for (const { name, shape } of transposedWeights(config)) {
    const laid = g.op('Transpose', [g.input(name, 'float32', shape)], { attrs: { perm: [1, 0] } })
    g.output(laid, 'float32', shape.toReversed(), `laid.${name}`)
  }
  return g
}

/** The weights in the shapes of {@link decodeWeights}: those of the layout graph's run, the others where they lie. */
export function laidWeights(config: ModelConfig, weights: Tensors, laid: Tensors): Tensors {
  const entries = parameters(config).flatMap(({ name }): [string, ort.Tensor][] => {
    const given = weights[name]!
    if (!isCut(name)) return [[name, laid[`laid.${name}`] ?? given]]
    const data = given.data as Float32Array
    const [rows, columns] = given.dims as [number, number]
    const half = data.length / 2
    return gateAndUp(name).map((part, i) => [
      part,
      new ort.Tensor('float32', data.subarray(i * half, (i + 1) * half), [rows / 2, columns]),
    ])
  })
  return Object.fromEntries(entries)
}

function isTransposed(name: string): boolean {
  return name === 'lm_head' || name.endsWith('.o') || name.endsWith('.down')
}

function isCut(name: string): boolean {
  return name.endsWith('.gate_up')
}

function gateAndUp(name: string): [string, string] {
  const layer = name.slice(0, -'gate_up'.length)
  return [`${layer}gate`, `${layer}up`]
}
