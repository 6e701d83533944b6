import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toFloat32 } from '../../../src/model/weights/float32.ts'
import {
  decodeSafetensors,
  encodeSafetensors,
  float32Tensor,
  type RawTensor,
  type Safetensors,
} from '../../../src/model/weights/safetensors.ts'

const sizes = { F64: 8, I64: 8, F32: 4, I32: 4, F16: 2, BF16: 2, U8: 1, BOOL: 1 } as const
const tensor: fc.Arbitrary<RawTensor> = fc
  .record({
    dtype: fc.constantFrom(...(Object.keys(sizes) as (keyof typeof sizes)[])),
    shape: fc.array(fc.nat(4), { maxLength: 3 }),
    fill: fc.nat(255),
  })
  .map(({ dtype, shape, fill }) => {
    const size = shape.reduce((a, b) => a * b, sizes[dtype])
    return { dtype, shape, bytes: Uint8Array.from({ length: size }, (_, i) => (i * 31 + fill) & 255) }
  })
const name = fc
  .oneof(fc.string(), fc.constantFrom('__proto__', '10', '2', 'constructor', 'a.b'))
  .filter((n) => n !== '__metadata__')
const contents: fc.Arbitrary<Safetensors> = fc.record({
  tensors: fc.array(fc.tuple(name, tensor), { maxLength: 6 }).map((pairs) => new Map(pairs)),
  metadata: fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), fc.string(), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
})

/** A file with this header, whatever it says, and so many bytes of data. */
function fileWith(header: unknown, dataBytes: number): Uint8Array {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(json.length))
  return Buffer.concat([length, json, Buffer.alloc(dataBytes)])
}

describe('a safetensors file', () => {
  test('holds what was put in, each tensor aligned to its numbers', () => {
    fc.assert(
      fc.property(contents, (given) => {
        const bytes = encodeSafetensors(given)
        const { tensors, metadata } = decodeSafetensors(bytes, 'f')
        expect(metadata).toStrictEqual(given.metadata)
        expect(tensors.size).toBe(given.tensors.size)
        for (const [key, value] of given.tensors) {
          expect(tensors.get(key)).toStrictEqual(value)
          expect(tensors.get(key)!.bytes.byteOffset % sizes[value.dtype as 'F32']).toBe(0)
        }
      }),
    )
  })

  test('cut off anywhere is refused', () => {
    fc.assert(
      fc.property(contents, fc.nat(), (given, at) => {
        const bytes = encodeSafetensors(given)
        const cut = bytes.subarray(0, at % bytes.length)
        expect(() => decodeSafetensors(cut, 'w.safetensors')).toThrow(
          expect.objectContaining({
            code: 'CHECKPOINT_INVALID',
            message: expect.stringContaining('w.safetensors'),
          }),
        )
      }),
    )
  })

  test('with bytes altered is read or refused, never anything else', () => {
    fc.assert(
      fc.property(contents, fc.nat(), fc.nat(255), (given, at, byte) => {
        const bytes = encodeSafetensors(given)
        bytes[at % bytes.length] = byte
        try {
          decodeSafetensors(bytes, 'f')
        } catch (error) {
          expect(error).toMatchObject({ code: 'CHECKPOINT_INVALID' })
        }
      }),
    )
  })

  const f32 = (begin: number, end: number, shape: unknown = [1]) => ({
    dtype: 'F32',
    shape,
    data_offsets: [begin, end],
  })
  test.each([
    ['a hole', { a: f32(0, 4), b: f32(8, 12) }, 12, 'tensor b: expected its data at byte 4, got 8'],
    ['an overlap', { a: f32(0, 4), b: f32(0, 4) }, 4, 'tensor b: expected its data at byte 4, got 0'],
    ['a range outside', { a: f32(0, 4) }, 3, 'tensor a: expected a range within 3 bytes, got [0, 4]'],
    ['bytes left over', { a: f32(0, 4) }, 6, 'expected 4 bytes of data, got 6'],
    ['a wrong size', { a: f32(0, 4, [2]) }, 4, 'tensor a: expected 8 bytes for F32 [2], got 4'],
    ['an unknown dtype', { a: { ...f32(0, 4), dtype: 'F31' } }, 4, 'tensor a: dtype: Invalid option'],
    ['a negative dimension', { a: f32(0, 4, [-1]) }, 4, 'tensor a: shape.0: Too small'],
    ['metadata that is not text', { __metadata__: { step: 3 } }, 0, '__metadata__: step: Invalid input'],
    ['no object', [1], 0, 'expected a JSON object as header'],
    ['no JSON', '{"a":', 0, 'expected a JSON header'],
  ])('with %s is refused by name', (_, header, dataBytes, message) => {
    expect(() => decodeSafetensors(fileWith(header, dataBytes), 'w.safetensors')).toThrow(
      expect.objectContaining({
        code: 'CHECKPOINT_INVALID',
        message: expect.stringContaining(`w.safetensors: ${message}`),
      }),
    )
  })

  test('is not written with bytes that do not fit the shape', () => {
    const tensors = new Map([['a', float32Tensor(new Float32Array(3), [2, 2])]])
    expect(() => encodeSafetensors({ tensors, metadata: {} })).toThrow(
      'tensor a: expected 16 bytes for F32 [2, 2], got 12',
    )
  })
})

describe('numbers', () => {
  const raw = (dtype: RawTensor['dtype'], bits: Uint16Array): RawTensor => ({
    dtype,
    shape: [bits.length],
    bytes: new Uint8Array(bits.buffer),
  })

  test('in float32 are a view where aligned, and a copy where not', () => {
    const memory = new Uint8Array(16)
    new Float32Array(memory.buffer).set([1, 2, 3, 4])
    const aligned = toFloat32({ dtype: 'F32', shape: [2], bytes: memory.subarray(4, 12) }, 'a')
    expect(aligned).toStrictEqual(Float32Array.of(2, 3))
    expect(aligned.buffer).toBe(memory.buffer)
    const shifted = new Uint8Array(17)
    shifted.set(memory, 1)
    const copied = toFloat32({ dtype: 'F32', shape: [4], bytes: shifted.subarray(1) }, 'a')
    expect(copied).toStrictEqual(Float32Array.of(1, 2, 3, 4))
  })

  test('in half precision and bfloat16 widen exactly', () => {
    const half = Uint16Array.of(0x3c00, 0xc000, 0x3555, 0x0001, 0x83ff, 0x7bff, 0x7c00, 0xfc00, 0x7e00)
    expect(toFloat32(raw('F16', half), 'a')).toStrictEqual(
      Float32Array.of(1, -2, 0.333251953125, 2 ** -24, -1023 * 2 ** -24, 65504, Infinity, -Infinity, NaN),
    )
    const brain = Uint16Array.of(0x3f80, 0xc000, 0x3eab, 0x7f80, 0x0001)
    expect(toFloat32(raw('BF16', brain), 'a')).toStrictEqual(
      Float32Array.of(1, -2, 0.333984375, Infinity, 2 ** -133),
    )
  })

  test('of another kind are refused', () => {
    expect(() => toFloat32(raw('I16', new Uint16Array(2)), 'f: tensor a')).toThrow(
      'f: tensor a: expected F32, F16 or BF16, got I16',
    )
  })
})
