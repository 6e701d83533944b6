import ort from 'onnxruntime-node'
import { CascadeError } from '../../../topics/errors.ts'
import { type ModelConfig, parameters } from '../config.ts'
import { type TensorMap, zeroState } from '../weights/init.ts'
import type { Tensors } from './sessions.ts'

/** Everything a step changes. Copies: the trainer keeps no reference to them. */
export interface TrainState {
  weights: TensorMap
  /** First and second moments of AdamW. */
  m: TensorMap
  v: TensorMap
  /** Steps applied so far; the bias corrections depend on it. */
  step: number
}

/** One set of weight and moment tensors, under the names of the graphs' inputs (`NAME`, `m.NAME`, `v.NAME`). */
export type Buffers = Tensors

/** @throws CascadeError CHECKPOINT_SHAPE, as {@link toTensors} */
export function toBuffers(config: ModelConfig, state: Omit<TrainState, 'step'>): Buffers {
  return {
    ...toTensors(config, state.weights),
    ...toTensors(config, state.m, 'm.'),
    ...toTensors(config, state.v, 'v.'),
  }
}

/**
 * Copies of the parameters as tensors, under their names with `prefix` before them.
 *
 * @throws CascadeError CHECKPOINT_SHAPE when a parameter is missing, has another size, or is not of this model
 */
export function toTensors(config: ModelConfig, values: TensorMap, prefix = ''): Tensors {
  const specs = new Map(parameters(config).map((p) => [p.name, p.shape]))
  const fault = (name: string, expected: string) => {
    const got = values.get(name)
    const found = got ? `${got.length} numbers` : 'nothing'
    return new CascadeError('CHECKPOINT_SHAPE', `tensor ${prefix}${name}: expected ${expected}, got ${found}`)
  }
  for (const name of values.keys()) if (!specs.has(name)) throw fault(name, 'no tensor of that name')
  const tensors: Tensors = {}
  for (const [name, shape] of specs) {
    const data = values.get(name)
    const size = shape.reduce((a, b) => a * b, 1)
    if (data?.length !== size) throw fault(name, `${size} numbers as [${shape.join(', ')}]`)
    tensors[prefix + name] = new ort.Tensor('float32', data.slice(), shape)
  }
  return tensors
}

export function emptyBuffers(config: ModelConfig): Buffers {
  return toBuffers(config, { weights: zeroState(config), m: zeroState(config), v: zeroState(config) })
}

export function fromBuffers(config: ModelConfig, buffers: Buffers, step: number): TrainState {
  return {
    weights: toMap(config, buffers),
    m: toMap(config, buffers, 'm.'),
    v: toMap(config, buffers, 'v.'),
    step,
  }
}

/** Copies of the tensors whose names begin with `prefix`, by parameter name. */
export function toMap(config: ModelConfig, tensors: Tensors, prefix = ''): TensorMap {
  return new Map(
    parameters(config).map((p) => [p.name, (tensors[prefix + p.name]!.data as Float32Array).slice()]),
  )
}
