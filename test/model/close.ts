import { expect } from 'vitest'
import type { ModelConfig } from '../../src/model/config.ts'
import { fromHuggingFace } from '../../src/model/weights/hugging-face.ts'
import type { TensorMap } from '../../src/model/weights/init.ts'
import { decodeSafetensors } from '../../src/model/weights/safetensors.ts'

/** Relative error that is allowed between our numbers and PyTorch's. */
export const tolerance = 1e-4

/** The tensors of a file whose Hugging Face names stand behind `prefix`. */
export function tensorsOf(config: ModelConfig, bytes: Uint8Array, file: string, prefix: string): TensorMap {
  const all = Array.from(decodeSafetensors(bytes, file).tensors)
  const named = all.filter(([name]) => name.startsWith(prefix))
  return fromHuggingFace(config, new Map(named.map(([name, t]) => [name.slice(prefix.length), t])), file)
}

/** Norm of the difference over the norm of what is expected, of each tensor. */
function errors(got: TensorMap, expected: TensorMap): Record<string, number> {
  const of = (name: string) => {
    const [a, b] = [got.get(name)!, expected.get(name)!]
    return Math.hypot(...a.map((v, i) => v - b[i]!)) / Math.hypot(...b)
  }
  return Object.fromEntries(Array.from(expected.keys(), (name) => [name, of(name)]))
}

export function minus(a: TensorMap, b: TensorMap): TensorMap {
  return new Map(Array.from(a, ([name, values]) => [name, values.map((v, i) => v - b.get(name)![i]!)]))
}

/** Every tensor within the {@link tolerance}. */
export function expectClose(got: TensorMap, expected: TensorMap): void {
  const far = Object.entries(errors(got, expected)).filter(([, error]) => !(error <= tolerance))
  expect(far).toStrictEqual([])
}
