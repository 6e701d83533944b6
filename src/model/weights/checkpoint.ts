import { z } from 'zod'
import { CascadeError } from '../../../topics/errors.ts'
import { type ModelConfig, parameters } from '../config.ts'
import type { TrainState } from '../train/state.ts'
import { toFloat32 } from './float32.ts'
import { fromHuggingFace, toHuggingFace } from './hugging-face.ts'
import { fromHuggingFaceConfig, toHuggingFaceConfig } from './hugging-face-config.ts'
import { type TensorMap, zeroState } from './init.ts'
import { decodeSafetensors, encodeSafetensors, float32Tensor, type RawTensor } from './safetensors.ts'

/** Files of a checkpoint folder. The first two are what Hugging Face transformers loads. */
export const checkpointFiles = {
  config: 'config.json',
  model: 'model.safetensors',
  optimizer: 'optimizer.safetensors',
} as const

export interface EncodedFile {
  name: string
  bytes: Uint8Array
}

export interface DecodedCheckpoint {
  config: ModelConfig
  state: TrainState
}

const stepSchema = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER)

/** The files that Hugging Face transformers loads: config and weights. `ids`: special tokens, which a reward model needs padding of. */
export function encodeModel(config: ModelConfig, weights: TensorMap, ids: SpecialIds = {}): EncodedFile[] {
  const json = `${JSON.stringify({ ...toHuggingFaceConfig(config), ...ids }, null, 2)}\n`
  const model = { tensors: toHuggingFace(config, weights), metadata: { format: 'pt' } }
  return [
    { name: checkpointFiles.config, bytes: new TextEncoder().encode(json) },
    { name: checkpointFiles.model, bytes: encodeSafetensors(model) },
  ]
}

export interface SpecialIds {
  pad_token_id?: number
  bos_token_id?: number
  eos_token_id?: number
}

/** The files of a checkpoint; the same state gives the same bytes, and {@link decodeCheckpoint} the same state. */
export function encodeCheckpoint(config: ModelConfig, state: TrainState): EncodedFile[] {
  const moments = new Map<string, RawTensor>()
  for (const prefix of ['m', 'v'] as const) {
    for (const { name, shape } of parameters(config)) {
      const values = state[prefix].get(name)
      if (!values)
        throw new CascadeError('CHECKPOINT_SHAPE', `tensor ${prefix}.${name}: expected it, got nothing`)
      moments.set(`${prefix}.${name}`, float32Tensor(values, shape))
    }
  }
  const optimizer = { tensors: moments, metadata: { step: String(state.step) } }
  return [
    ...encodeModel(config, state.weights),
    { name: checkpointFiles.optimizer, bytes: encodeSafetensors(optimizer) },
  ]
}

/**
 * Model and state from a checkpoint's files. Weights may lie in several files `model*.safetensors`, as large Hugging
 * Face checkpoints do. Without an optimizer file the moments are 0 and the step is 0.
 *
 * @throws CascadeError CHECKPOINT_INVALID naming file and tensor; CHECKPOINT_NOT_FOUND for a file that is not there;
 * CHECKPOINT_SHAPE naming tensor and both shapes, against `expected` where given; MODEL_INVALID for a model that this engine
 * cannot run
 */
export function decodeCheckpoint(
  files: ReadonlyMap<string, Uint8Array>,
  expected?: ModelConfig,
): DecodedCheckpoint {
  const config = fromHuggingFaceConfig(readJson(files), checkpointFiles.config)
  const weights = readWeights(files, expected ?? config)
  for (const [name, value] of Object.entries(expected ?? {})) {
    const got = config[name as keyof ModelConfig]
    if (got === value) continue
    throw new CascadeError(
      'CHECKPOINT_SHAPE',
      `${checkpointFiles.config}: ${name}: expected ${value}, got ${got}`,
    )
  }
  const optimizer = files.get(checkpointFiles.optimizer)
  if (!optimizer) return { config, state: { weights, m: zeroState(config), v: zeroState(config), step: 0 } }
  return { config, state: { weights, ...readMoments(optimizer, config) } }
}

function readJson(files: ReadonlyMap<string, Uint8Array>): unknown {
  const bytes = files.get(checkpointFiles.config)
  if (!bytes) throw missing(checkpointFiles.config)
  try {
    return JSON.parse(new TextDecoder().decode(bytes))
  } catch (cause) {
    throw new CascadeError(
      'CHECKPOINT_INVALID',
      `${checkpointFiles.config}: expected JSON: ${String(cause)}`,
      {
        cause,
      },
    )
  }
}

function readWeights(files: ReadonlyMap<string, Uint8Array>, config: ModelConfig): TensorMap {
  const names = Array.from(files.keys()).filter((name) => /^model.*\.safetensors$/.test(name))
  if (names.length === 0) throw missing(checkpointFiles.model)
  const tensors = names.flatMap((name) => Array.from(decodeSafetensors(files.get(name)!, name).tensors))
  return fromHuggingFace(config, new Map(tensors), names.length === 1 ? names[0]! : 'model*.safetensors')
}

function readMoments(bytes: Uint8Array, config: ModelConfig): Omit<TrainState, 'weights'> {
  const file = checkpointFiles.optimizer
  const { tensors, metadata } = decodeSafetensors(bytes, file)
  const step = stepSchema.safeParse(metadata.step)
  if (metadata.step === undefined || !step.success) {
    throw new CascadeError(
      'CHECKPOINT_INVALID',
      `${file}: metadata step: expected a whole number, got ${metadata.step}`,
    )
  }
  const moments = (prefix: string): TensorMap =>
    new Map(
      parameters(config).map(({ name, shape }) => {
        const tensor = tensors.get(`${prefix}.${name}`)
        const [wanted, got] = [shape, tensor?.shape].map((s) => (s ? `[${s.join(', ')}]` : 'nothing'))
        if (!tensor || wanted !== got) {
          const message = `${file}: tensor ${prefix}.${name}: expected ${wanted}, got ${got}`
          throw new CascadeError('CHECKPOINT_SHAPE', message)
        }
        return [name, toFloat32(tensor, `${file}: tensor ${prefix}.${name}`)]
      }),
    )
  return { m: moments('m'), v: moments('v'), step: step.data }
}

function missing(name: string): CascadeError {
  return new CascadeError('CHECKPOINT_NOT_FOUND', `${name}: expected the file in the checkpoint, got none`)
}
