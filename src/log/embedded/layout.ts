import { crc32 } from 'node:zlib'
import { CascadeError } from '../../../topics/errors.ts'

/**
 * Keys and small rows of the log's table. Keys are `kind (1) | rest`; numbers in keys are big-endian so that
 * they sort. Rows end in a CRC-32, since LMDB itself checks nothing.
 *
 * An entry's key holds the offset of its *last* record: one forward seek from any offset lands on the entry
 * that contains it.
 */
const kind = { topic: 1, position: 2, taken: 3, entry: 9 } as const

export function topicKey(name: string): Buffer {
  return prefixed(kind.topic, name)
}

export function positionKey(topicId: number, group: string): Buffer {
  const key = Buffer.allocUnsafe(5 + Buffer.byteLength(group))
  key[0] = kind.position
  key.writeUInt32BE(topicId, 1)
  key.write(group, 5)
  return key
}

export function takenKey(inboxId: string): Buffer {
  return prefixed(kind.taken, inboxId)
}

export function entryKey(topicId: number, last: number): Buffer {
  const key = Buffer.allocUnsafe(11)
  key[0] = kind.entry
  key.writeUInt32BE(topicId, 1)
  key.writeUIntBE(last, 5, 6)
  return key
}

/** Exclusive end of a topic's entries. */
export function entryEnd(topicId: number): Buffer {
  return entryKey(topicId + 1, 0)
}

export const topicRange = range(kind.topic)
export const positionRange = range(kind.position)
export const takenRange = range(kind.taken)

export function nameOf(key: Uint8Array): string {
  return view(key).toString('utf8', 1)
}

export function positionOf(key: Uint8Array): { topicId: number; group: string } {
  const bytes = view(key)
  return { topicId: bytes.readUInt32BE(1), group: bytes.toString('utf8', 5) }
}

export function lastOf(key: Uint8Array): number {
  return view(key).readUIntBE(5, 6)
}

/** What is kept about a topic beside its records. */
export interface TopicRow {
  readonly id: number
  readonly earliest: number
  readonly next: number
  /** Bytes of the stored values from `earliest` on. */
  readonly bytes: number
  /** Timestamp of the last record; none before it is ever written. */
  readonly timestamp: number
}

export function encodeTopicRow(row: TopicRow): Buffer {
  const bytes = Buffer.allocUnsafe(36)
  bytes.writeUInt32LE(row.id, 0)
  bytes.writeDoubleLE(row.earliest, 4)
  bytes.writeDoubleLE(row.next, 12)
  bytes.writeDoubleLE(row.bytes, 20)
  bytes.writeDoubleLE(row.timestamp, 28)
  return seal(bytes)
}

export function decodeTopicRow(sealed: Uint8Array, name: string): TopicRow {
  const bytes = unseal(sealed, `topic ${name}`)
  return {
    id: bytes.readUInt32LE(0),
    earliest: bytes.readDoubleLE(4),
    next: bytes.readDoubleLE(12),
    bytes: bytes.readDoubleLE(20),
    timestamp: bytes.readDoubleLE(28),
  }
}

export function seal(bytes: Uint8Array): Buffer {
  const sealed = Buffer.allocUnsafe(bytes.length + 4)
  sealed.set(bytes)
  sealed.writeUInt32LE(crc32(bytes), bytes.length)
  return sealed
}

/** @throws `LOG_CORRUPT` naming `what`. */
export function unseal(sealed: Uint8Array, what: string): Buffer {
  const all = view(sealed)
  const bytes = all.subarray(0, Math.max(0, all.length - 4))
  if (all.length < 4 || all.readUInt32LE(bytes.length) !== crc32(bytes)) {
    throw new CascadeError(
      'LOG_CORRUPT',
      `${what}: expected a row with its checksum, got ${all.length} bytes`,
    )
  }
  return bytes
}

function prefixed(first: number, name: string): Buffer {
  const key = Buffer.allocUnsafe(1 + Buffer.byteLength(name))
  key[0] = first
  key.write(name, 1)
  return key
}

function range(first: number): { start: Buffer; end: Buffer } {
  return { start: Buffer.from([first]), end: Buffer.from([first + 1]) }
}

/** The same memory as a Buffer: LMDB hands out plain byte arrays. */
export function view(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
