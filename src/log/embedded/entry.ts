import { crc32 } from 'node:zlib'
import { CascadeError } from '../../../topics/errors.ts'

/**
 * An entry holds consecutive records of one topic, written by one transaction with one timestamp:
 * `header (36) | index (8 a record: end of its meta, end of its frame) | metas | frames`. A meta is the key and
 * the headers; a frame is the value with its own checksum. The header has a checksum of header, index and metas, and one
 * of all frames together: where it holds, none of them is checked alone.
 */
const headerBytes = 36
const format = 1

export type Headers = Readonly<Record<string, string>>

export interface EntryRecord {
  readonly key: string
  readonly headers: Headers | undefined
  readonly frame: Uint8Array
}

const noHeaders: Headers = Object.freeze({})

export function packEntry(records: readonly EntryRecord[], base: number, timestamp: number): Buffer {
  let metaBytes = 0
  let frameBytes = 0
  for (const r of records) {
    metaBytes += metaSize(r)
    frameBytes += r.frame.length
  }
  const metaStart = headerBytes + records.length * 8
  const frameStart = metaStart + metaBytes
  const bytes = Buffer.allocUnsafe(frameStart + frameBytes)
  bytes.fill(0, 0, 4)
  bytes[0] = format
  bytes.writeUInt32LE(records.length, 4)
  bytes.writeDoubleLE(timestamp, 8)
  bytes.writeDoubleLE(base, 16)
  bytes.writeUInt32LE(metaBytes, 24)
  let meta = metaStart
  let frame = frameStart
  for (let i = 0; i < records.length; i++) {
    const r = records[i]!
    meta = writeMeta(bytes, meta, r)
    bytes.set(r.frame, frame)
    frame += r.frame.length
    bytes.writeUInt32LE(meta - metaStart, headerBytes + i * 8)
    bytes.writeUInt32LE(frame - frameStart, headerBytes + i * 8 + 4)
  }
  bytes.writeUInt32LE(crc32(bytes.subarray(frameStart)), 32)
  bytes.writeUInt32LE(checksum(bytes, frameStart), 28)
  return bytes
}

/** A stored entry, its checksum verified. Frames are views of its memory. */
export class Entry {
  readonly base: number
  readonly count: number
  readonly timestamp: number
  /** All its frames hold; otherwise each tells by itself. */
  readonly intact: boolean
  readonly #bytes: Buffer
  readonly #metaStart: number
  readonly #frameStart: number

  /**
   * @param wanted the first offset the caller wants of it
   * @throws `RECORD_CORRUPT` naming topic and offset; `context.last` is the last offset that is lost with it.
   */
  constructor(bytes: Buffer, topic: string, last: number, wanted: number) {
    const count = bytes.length < headerBytes || bytes[0] !== format ? 0 : bytes.readUInt32LE(4)
    this.#bytes = bytes
    this.count = count
    this.#metaStart = headerBytes + count * 8
    this.#frameStart = count === 0 ? 0 : this.#metaStart + bytes.readUInt32LE(24)
    this.base = last - count + 1
    if (
      count === 0 ||
      this.#frameStart > bytes.length ||
      checksum(bytes, this.#frameStart) !== bytes.readUInt32LE(28) ||
      bytes.readDoubleLE(16) !== this.base ||
      this.#frameEnd(count - 1) !== bytes.length
    ) {
      throw new CascadeError(
        'RECORD_CORRUPT',
        `topic ${topic} offset ${wanted}: expected a whole entry with its checksum, got ${bytes.length} damaged bytes`,
        { context: { topic, offset: wanted, last } },
      )
    }
    this.timestamp = bytes.readDoubleLE(8)
    this.intact = crc32(bytes.subarray(this.#frameStart)) === bytes.readUInt32LE(32)
  }

  get last(): number {
    return this.base + this.count - 1
  }

  /** Memory it occupies. */
  get size(): number {
    return this.#bytes.length
  }

  /** Bytes of all its frames. */
  get frameBytes(): number {
    return this.#bytes.length - this.#frameStart
  }

  /** Memory of the whole entry, where its {@link part}s are. */
  get bytes(): Buffer {
    return this.#bytes
  }

  part(i: number): { readonly start: number; readonly end: number } {
    return { start: i === 0 ? this.#frameStart : this.#frameEnd(i - 1), end: this.#frameEnd(i) }
  }

  frameLength(i: number): number {
    return this.#frameEnd(i) - (i === 0 ? this.#frameStart : this.#frameEnd(i - 1))
  }

  key(i: number): string {
    const at = this.#meta(i)
    return this.#bytes.toString('utf8', at + 4, at + 4 + this.#bytes.readUInt32LE(at))
  }

  headers(i: number): Headers {
    const start = this.#meta(i)
    let at = start + 4 + this.#bytes.readUInt32LE(start)
    if (at === this.#metaEnd(i)) return noHeaders
    const headers: Record<string, string> = {}
    const read = (): string => {
      const length = this.#bytes.readUInt32LE(at)
      at += 4 + length
      return this.#bytes.toString('utf8', at - length, at)
    }
    while (at < this.#metaEnd(i)) {
      const name = read()
      headers[name] = read()
    }
    return Object.freeze(headers)
  }

  #meta(i: number): number {
    return i === 0 ? this.#metaStart : this.#metaEnd(i - 1)
  }

  #metaEnd(i: number): number {
    return this.#metaStart + this.#bytes.readUInt32LE(headerBytes + i * 8)
  }

  #frameEnd(i: number): number {
    return this.#frameStart + this.#bytes.readUInt32LE(headerBytes + i * 8 + 4)
  }
}

function checksum(bytes: Buffer, end: number): number {
  return crc32(bytes.subarray(32, end), crc32(bytes.subarray(0, 28)))
}

export function metaSize(r: EntryRecord): number {
  let size = 4 + Buffer.byteLength(r.key)
  for (const name in r.headers) size += 8 + Buffer.byteLength(name) + Buffer.byteLength(r.headers[name]!)
  return size
}

function writeMeta(bytes: Buffer, start: number, r: EntryRecord): number {
  let at = writeText(bytes, start, r.key)
  for (const name in r.headers) at = writeText(bytes, writeText(bytes, at, name), r.headers[name]!)
  return at
}

function writeText(bytes: Buffer, at: number, value: string): number {
  const length = bytes.write(value, at + 4)
  bytes.writeUInt32LE(length, at)
  return at + 4 + length
}
