import { createHash } from 'node:crypto'
import { type ModelConfig, parameters } from '../config.ts'

/** Weights or optimiser moments by parameter name. */
export type TensorMap = Map<string, Float32Array>

/**
 * Starting weights, a pure function of seed and parameter name: adding or reordering parameters leaves the
 * others as they were. Stream: xoshiro128** (Blackman and Vigna 2018) seeded with the first 16 bytes of
 * SHA-256 over `init:SEED:NAME`; normals by Box and Muller, in double precision, rounded once.
 */
export function initWeights(config: ModelConfig, seed: number | string): TensorMap {
  return new Map(
    parameters(config).map(({ name, shape, init }) => {
      const size = shape.reduce((a, b) => a * b, 1)
      return [
        name,
        init === 'ones' ? new Float32Array(size).fill(1) : normals(`init:${seed}:${name}`, size, init),
      ]
    }),
  )
}

/** Zeros in the shapes of the parameters: the optimiser moments before the first step. */
export function zeroState(config: ModelConfig): TensorMap {
  return new Map(
    parameters(config).map((p) => [p.name, new Float32Array(p.shape.reduce((a, b) => a * b, 1))]),
  )
}

function normals(key: string, size: number, std: number): Float32Array {
  const next = xoshiro128(createHash('sha256').update(key).digest())
  const unit = () => (next() + 0.5) / 2 ** 32
  const out = new Float32Array(size)
  for (let i = 0; i < size; i += 2) {
    const radius = std * Math.sqrt(-2 * Math.log(unit()))
    const angle = 2 * Math.PI * unit()
    out[i] = radius * Math.cos(angle)
    if (i + 1 < size) out[i + 1] = radius * Math.sin(angle)
  }
  return out
}

/** 32-bit integers from the 16-byte state at the front of `seed`. */
function xoshiro128(seed: Buffer): () => number {
  let [a, b, c, d] = [0, 4, 8, 12].map((at) => seed.readUInt32LE(at)) as [number, number, number, number]
  const rotate = (x: number, k: number) => (x << k) | (x >>> (32 - k))
  return () => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0
    const t = b << 9
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    c ^= t
    d = rotate(d, 11)
    return result
  }
}
