import { crc32 } from 'node:zlib'
import { Packr, RESERVE_START_SPACE } from 'msgpackr'
import { CascadeError } from './errors.ts'

/**
 * The frame around every record's value:
 * `0xCA | codec (1) | schema version u16 LE | crc32 of all other bytes u32 LE | MessagePack payload`.
 * Typed arrays travel as raw little-endian bytes, so a token costs what its arrays cost.
 */
const magic = 0xca
const codec = 1
export const frameHeaderBytes = 8
const checksumAt = 4
export const maxVersion = 0xffff

// `useRecords: false` keeps the payload plain MessagePack that any language reads; `moreTypes` carries typed arrays.
const packr = new Packr({ useRecords: false, moreTypes: true, int64AsType: 'number', variableMapSize: true })

/** Frames plain data and typed arrays. `version` lies between 1 and {@link maxVersion}. */
export function encodeFrame(version: number, value: unknown): Uint8Array {
  // Packed behind the header's place: the result is a view of memory that no later frame is written into.
  const frame: Buffer = packr.pack(value, RESERVE_START_SPACE | frameHeaderBytes)
  frame[0] = magic
  frame[1] = codec
  frame.writeUInt16LE(version, 2)
  frame.writeUInt32LE(checksum(frame), checksumAt)
  return frame
}

/** Checksums of the first bytes of a header, by version: those bytes are nothing else. */
const seeds = new Map<number, number>()

function checksum(frame: Buffer): number {
  // The codec and the magic byte were looked at before.
  const version = frame.readUInt16LE(2)
  let seed = seeds.get(version)
  if (seed === undefined) {
    seed = crc32(frame.subarray(0, checksumAt))
    seeds.set(version, seed)
  }
  return crc32(frame.subarray(frameHeaderBytes), seed)
}

export interface Frame {
  version: number
  value: unknown
}

/** A frame among others in one piece of memory. */
export interface Part {
  readonly start: number
  readonly end: number
}

/**
 * @param part where in `bytes` the frame is; its checksum was verified already, together with others'. The unpacker keeps
 * what it needs of `bytes`, so that many parts of one piece cost less than as many views.
 * @throws {@link CascadeError} `RECORD_CORRUPT` where the bytes are not a whole frame or fail their checksum.
 */
export function decodeFrame(bytes: Uint8Array, where: string, part?: Part): Frame {
  const { start, end } = part ?? { start: 0, end: bytes.length }
  if (end - start < frameHeaderBytes || bytes[start] !== magic || bytes[start + 1] !== codec) {
    throw new CascadeError(
      'RECORD_CORRUPT',
      `${where}: expected a record frame, got ${describe(bytes.subarray(start, end))}`,
    )
  }
  if (!part) {
    const frame = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const expected = frame.readUInt32LE(checksumAt)
    const actual = checksum(frame)
    if (expected !== actual) {
      throw new CascadeError(
        'RECORD_CORRUPT',
        `${where}: expected checksum ${hex(expected)}, got ${hex(actual)}`,
      )
    }
  }
  try {
    return {
      version: bytes[start + 2]! | (bytes[start + 3]! << 8),
      value: packr.unpack(bytes, { start: start + frameHeaderBytes, end }),
    }
  } catch (cause) {
    const got = describe(bytes.subarray(start, end))
    throw new CascadeError('RECORD_CORRUPT', `${where}: expected MessagePack, got ${got}`, { cause })
  }
}

function describe(frame: Uint8Array): string {
  return `${frame.length} bytes starting with 0x${Buffer.from(frame.subarray(0, 4)).toString('hex')}`
}

function hex(n: number): string {
  return `0x${n.toString(16).padStart(8, '0')}`
}
