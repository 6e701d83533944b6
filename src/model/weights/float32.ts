import { CascadeError } from '../../../topics/errors.ts'
import type { RawTensor } from './safetensors.ts'

/**
 * The numbers of a tensor as float32; exact for F32, F16 and BF16. A view of the tensor's memory where it holds
 * float32 at an aligned address, a copy otherwise. `label` names file and tensor for messages.
 *
 * @throws CascadeError CHECKPOINT_INVALID for another dtype
 */
export function toFloat32({ dtype, bytes }: RawTensor, label: string): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes
  if (dtype === 'F32' && byteOffset % 4 === 0) return new Float32Array(buffer, byteOffset, byteLength / 4)
  const copy = bytes.slice().buffer
  if (dtype === 'F32') return new Float32Array(copy)
  if (dtype === 'F16') return Float32Array.from(new Uint16Array(copy), halfToNumber)
  if (dtype !== 'BF16') {
    throw new CascadeError('CHECKPOINT_INVALID', `${label}: expected F32, F16 or BF16, got ${dtype}`)
  }
  const bits = Uint32Array.from(new Uint16Array(copy), (half) => half << 16)
  return new Float32Array(bits.buffer)
}

/** IEEE 754 binary16. */
function halfToNumber(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 0x1f
  const fraction = bits & 0x3ff
  if (exponent === 0) return sign * fraction * 2 ** -24
  if (exponent === 0x1f) return fraction ? Number.NaN : sign * Number.POSITIVE_INFINITY
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}
