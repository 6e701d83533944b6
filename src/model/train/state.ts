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

/** @throws CascadeError CHECKPOINT_SHAPE when a parameter is missing or has another size */
export function toBuffers(config: ModelConfig, state: Omit<TrainState, 'step'>): Buffers {
  const buffers: Buffers = {}
  const groups = { '': state.weights, 'm.': state.m, 'v.': state.v }
  for (const [prefix, tensors] of Object.entries(groups)) {
    for (const { name, shape } of parameters(config)) {
      const data = tensors.get(name)
      const size = shape.reduce((a, b) => a * b, 1)
      if (data?.length !== size) {
        const got = data ? `${data.length} numbers` : 'nothing'
        throw new CascadeError(
          'CHECKPOINT_SHAPE',
          `tensor ${prefix}${name}: expected ${size} numbers, got ${got}`,
        )
      }
      buffers[prefix + name] = new ort.Tensor('float32', data.slice(), shape)
    }
  }
  return buffers
}

export function emptyBuffers(config: ModelConfig): Buffers {
  return toBuffers(config, { weights: zeroState(config), m: zeroState(config), v: zeroState(config) })
}

export function fromBuffers(config: ModelConfig, buffers: Buffers, step: number): TrainState {
  const group = (prefix: string): TensorMap =>
    new Map(parameters(config).map((p) => [p.name, (buffers[prefix + p.name]!.data as Float32Array).slice()]))
  return { weights: group(''), m: group('m.'), v: group('v.'), step }
}
