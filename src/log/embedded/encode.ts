import type { Append } from '../../../streams/ports.ts'
import { CascadeError, isCascadeError } from '../../../topics/errors.ts'
import { type EntryRecord, metaSize } from './entry.ts'

/** An append as it will be stored. */
export interface EncodedRecord extends EntryRecord {
  readonly topic: string
  readonly size: number
}

/** Records and bytes encoded in one turn of the event loop: about 10 ms of rollouts. */
const turn = { records: 256, bytes: 1024 * 1024 }

/** Encodes in slices, so that a large commit does not hold up the event loop; yields between slices. */
export function* encodeAll(append: readonly Append[], maxBytes: number): Generator<void, EncodedRecord[]> {
  const records: EncodedRecord[] = []
  let count = 0
  let bytes = 0
  for (const item of append) {
    if (count === turn.records || bytes >= turn.bytes) {
      yield
      count = 0
      bytes = 0
    }
    const record = encode(item, maxBytes)
    records.push(record)
    count++
    bytes += record.size
  }
  return records
}

/** @throws `RECORD_INVALID`, `RECORD_TOO_LARGE`. */
function encode({ topic, value, headers }: Append, maxBytes: number): EncodedRecord {
  const { name } = topic
  checkName('topic', name)
  let frame: Uint8Array
  let key: string
  try {
    frame = topic.encode(value)
    key = topic.key(value)
  } catch (error) {
    if (isCascadeError(error)) throw error
    throw new CascadeError('RECORD_INVALID', `topic ${name}: the value cannot be encoded: ${String(error)}`, {
      cause: error,
    })
  }
  if (typeof key !== 'string') throw notText(name, 'the key', key)
  for (const header in headers) {
    if (typeof headers[header] !== 'string') throw notText(name, `header ${header}`, headers[header])
  }
  const record = { topic: name, key, headers, frame }
  const size = frame.length + metaSize(record)
  if (size > maxBytes) {
    throw new CascadeError(
      'RECORD_TOO_LARGE',
      `topic ${name}: expected a record of at most ${maxBytes} bytes, got ${size} with key ${key.slice(0, 80)}`,
      { context: { topic: name, size, maxBytes } },
    )
  }
  return { ...record, size }
}

/** Names end up in keys, file names and terminals. @throws `RECORD_INVALID`. */
export function checkName(what: 'topic' | 'group', name: string): void {
  if (/^[A-Za-z0-9._:/@-]{1,200}$/.test(name)) return
  throw new CascadeError(
    'RECORD_INVALID',
    `${what} ${JSON.stringify(name)}: expected a name of 1 to 200 letters, digits and . _ : / @ -`,
  )
}

function notText(topic: string, what: string, value: unknown): CascadeError {
  return new CascadeError('RECORD_INVALID', `topic ${topic}: expected text as ${what}, got ${typeof value}`)
}
