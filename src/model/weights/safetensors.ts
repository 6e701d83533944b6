import { z } from 'zod'
import { CascadeError } from '../../../topics/errors.ts'

/**
 * The safetensors format: 8 bytes of header length (little-endian), a JSON header that names each tensor's dtype,
 * shape and place, then the tensors' bytes without holes (huggingface/safetensors, README, "Format"). Numbers are
 * little-endian, as those of every machine that onnxruntime-node runs on.
 */
const bytesPerNumber = {
  F64: 8,
  I64: 8,
  U64: 8,
  F32: 4,
  I32: 4,
  U32: 4,
  F16: 2,
  BF16: 2,
  I16: 2,
  U16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
  F8_E4M3: 1,
  F8_E5M2: 1,
} as const

export type SafetensorsType = keyof typeof bytesPerNumber

export interface RawTensor {
  dtype: SafetensorsType
  shape: readonly number[]
  bytes: Uint8Array
}

export interface Safetensors {
  tensors: Map<string, RawTensor>
  metadata: Record<string, string>
}

/** The format's own limit, so that a corrupt length is not taken for a huge header. */
const maxHeader = 100_000_000
const metadataKey = '__metadata__'

const entrySchema = z.object({
  dtype: z.enum(Object.keys(bytesPerNumber) as [SafetensorsType, ...SafetensorsType[]]),
  shape: z.array(z.int().min(0)),
  data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
})
const metadataSchema = z.record(z.string(), z.string())

/** A tensor of float32 numbers; shares their memory. */
export function float32Tensor(values: Float32Array, shape: readonly number[]): RawTensor {
  return { dtype: 'F32', shape, bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength) }
}

/**
 * One file. Wider dtypes come first and data starts at a multiple of 8, so that every tensor is aligned to its
 * numbers; otherwise the order is that of the map. The same input gives the same bytes.
 *
 * @throws CascadeError CHECKPOINT_INVALID when a tensor's bytes do not fit its shape, or a name is reserved
 */
export function encodeSafetensors({ tensors, metadata }: Safetensors): Uint8Array {
  const ordered = Array.from(tensors).sort(
    ([, a], [, b]) => bytesPerNumber[b.dtype] - bytesPerNumber[a.dtype],
  )
  const header: [string, unknown][] = []
  if (Object.keys(metadata).length > 0) header.push([metadataKey, metadata])
  let size = 0
  for (const [name, { dtype, shape, bytes }] of ordered) {
    if (name === metadataKey) throw invalid('safetensors', `tensor ${name}: the name is reserved`)
    checkSize('safetensors', name, { dtype, shape }, bytes.byteLength)
    header.push([name, { dtype, shape, data_offsets: [size, size + bytes.byteLength] }])
    size += bytes.byteLength
  }
  // Written key by key: an object literal would lose a tensor named __proto__ and reorder names that are numbers.
  const pairs = header.map(([name, entry]) => `${JSON.stringify(name)}:${JSON.stringify(entry)}`)
  const json = new TextEncoder().encode(`{${pairs.join(',')}}`)
  const headerSize = Math.ceil(json.byteLength / 8) * 8
  const file = new Uint8Array(8 + headerSize + size)
  new DataView(file.buffer).setBigUint64(0, BigInt(headerSize), true)
  file.fill(0x20, 8, 8 + headerSize)
  file.set(json, 8)
  let at = 8 + headerSize
  for (const [, { bytes }] of ordered) {
    file.set(bytes, at)
    at += bytes.byteLength
  }
  return file
}

/**
 * The tensors of a file, as views of it. `file` is the name for messages.
 *
 * @throws CascadeError CHECKPOINT_INVALID naming the file, and the tensor where one is at fault, for a truncated file,
 * a header that is not as the format has it, or tensors that overlap, leave holes or leave bytes over
 */
export function decodeSafetensors(bytes: Uint8Array, file: string): Safetensors {
  const { header, data } = splitFile(bytes, file)
  const tensors = new Map<string, RawTensor>()
  const spans: { name: string; begin: number; end: number }[] = []
  let metadata: Record<string, string> = {}
  for (const [name, value] of Object.entries(header)) {
    if (name === metadataKey) {
      metadata = parsed(metadataSchema, value, file, metadataKey)
      continue
    }
    const { dtype, shape, data_offsets: offsets } = parsed(entrySchema, value, file, `tensor ${name}`)
    const [begin, end] = offsets
    if (begin > end || end > data.byteLength) {
      const range = `[${begin}, ${end}]`
      throw invalid(file, `tensor ${name}: expected a range within ${data.byteLength} bytes, got ${range}`)
    }
    checkSize(file, name, { dtype, shape }, end - begin)
    tensors.set(name, { dtype, shape, bytes: data.subarray(begin, end) })
    spans.push({ name, begin, end })
  }
  let covered = 0
  for (const { name, begin, end } of spans.sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (begin !== covered) {
      throw invalid(file, `tensor ${name}: expected its data at byte ${covered}, got ${begin}`)
    }
    covered = end
  }
  if (covered !== data.byteLength) {
    throw invalid(file, `expected ${covered} bytes of data, got ${data.byteLength}`)
  }
  return { tensors, metadata }
}

function splitFile(bytes: Uint8Array, file: string): { header: Record<string, unknown>; data: Uint8Array } {
  if (bytes.byteLength < 8) {
    throw invalid(file, `expected a header length of 8 bytes, got ${bytes.byteLength} bytes`)
  }
  const length = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true)
  const most = Math.min(maxHeader, bytes.byteLength - 8)
  if (length > BigInt(most)) throw invalid(file, `expected a header of at most ${most} bytes, got ${length}`)
  const end = 8 + Number(length)
  let header: unknown
  try {
    header = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(8, end)))
  } catch (cause) {
    throw invalid(file, `expected a JSON header: ${String(cause)}`, cause)
  }
  if (typeof header !== 'object' || header === null || Array.isArray(header)) {
    throw invalid(file, 'expected a JSON object as header')
  }
  return { header: header as Record<string, unknown>, data: bytes.subarray(end) }
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, file: string, what: string): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const issue = result.error.issues[0]!
  throw invalid(file, `${what}: ${issue.path.join('.')}: ${issue.message}`)
}

function checkSize(
  file: string,
  name: string,
  { dtype, shape }: Omit<RawTensor, 'bytes'>,
  got: number,
): void {
  const expected = shape.reduce((a, b) => a * b, bytesPerNumber[dtype])
  if (expected !== got) {
    const what = `${expected} bytes for ${dtype} [${shape.join(', ')}]`
    throw invalid(file, `tensor ${name}: expected ${what}, got ${got}`)
  }
}

function invalid(file: string, message: string, cause?: unknown): CascadeError {
  return new CascadeError('CHECKPOINT_INVALID', `${file}: ${message}`, { cause })
}
