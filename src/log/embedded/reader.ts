import type {
  Envelope,
  Fetched,
  FetchLimit,
  PositionState,
  Start,
  TopicInfo,
} from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/errors.ts'
import type { Topic } from '../../../topics/topic.ts'
import { Entry } from './entry.ts'
import type { Table } from './environment.ts'
import {
  decodeTopicRow,
  entryEnd,
  entryKey,
  lastOf,
  nameOf,
  positionKey,
  type TopicRow,
  topicKey,
  topicRange,
  unseal,
  view,
} from './layout.ts'
import { SettledSet } from './settled.ts'

/** Entries kept for the next page of the same topic: a page that ends inside an entry continues there. */
const cachedEntries = 32
const cachedEntryBytes = 512 * 1024

/**
 * Reads the log's table. Every method reads within one turn of the event loop and lets its snapshot go before
 * it returns: an open one would keep LMDB from reusing pages.
 */
export class LogReader {
  readonly #table: Table
  readonly #cache = new Map<string, Entry>()

  constructor(table: Table) {
    this.#table = table
  }

  row(name: string): TopicRow | undefined {
    return this.#page(() => this.#row(name))
  }

  fetch<T>(topic: Topic<T>, from: number, limit: FetchLimit): Fetched<T> {
    const entries = this.#page(() => {
      const row = this.#row(topic.name)
      if (row && from < row.earliest) throw gone(topic.name, from, row.earliest)
      return row && from < row.next ? this.#entries(topic.name, row, from, limit) : []
    })
    const records: Envelope<T>[] = []
    let bytes = 0
    let next = from
    for (const entry of entries) {
      for (let i = next - entry.base; i < entry.count; i++) {
        const length = entry.frameLength(i)
        if (records.length >= limit.records) return { records, next }
        if (records.length > 0 && bytes + length > limit.bytes) return { records, next }
        try {
          records.push(envelope(topic, entry, i))
        } catch (error) {
          // What precedes a damaged record is handed out; the next fetch starts at the record and reports it.
          if (records.length > 0) return { records, next }
          throw error
        }
        bytes += length
        next++
      }
    }
    return { records, next }
  }

  offset(name: string, at: Start): number {
    if (typeof at === 'object' && 'offset' in at) return at.offset
    return this.#page(() => {
      const row = this.#row(name)
      if (!row) return 0
      if (at === 'earliest') return row.earliest
      if (at === 'latest') return row.next
      return this.#firstSince(name, row, at.timestamp)
    })
  }

  topics(): TopicInfo[] {
    return this.#page(() => {
      const infos: TopicInfo[] = []
      for (const { key, value } of this.#table.getRange(topicRange)) {
        const name = nameOf(key)
        const { earliest, next, bytes } = decodeTopicRow(value, name)
        infos.push({ name, earliest, next, bytes })
      }
      return infos
    })
  }

  position(group: string, name: string): PositionState {
    return this.#page(() => {
      const row = this.#row(name)
      const stored = row && this.#table.get(positionKey(row.id, group))
      const settled = stored
        ? SettledSet.decode(unseal(stored, `position of ${group} in ${name}`))
        : new SettledSet()
      settled.raise(row?.earliest ?? 0)
      return settled.state()
    })
  }

  /** The first entry that holds `offset` or a later one; undefined at the end. */
  entryAt(name: string, row: TopicRow, offset: number): Entry | undefined {
    return this.#page(() => this.#entryAt(name, row, offset))
  }

  /** Entries that hold the page, the first record's entry from the cache where it is there. */
  #entries(name: string, row: TopicRow, from: number, limit: FetchLimit): Entry[] {
    const first = this.#entryAt(name, row, from)
    const entries: Entry[] = []
    let expected = from
    let records = 0
    let bytes = 0
    const take = (entry: Entry): boolean => {
      if (entry.base > expected) throw missing(name, expected)
      const skipped = expected - entry.base
      records += entry.count - skipped
      bytes += skipped === 0 ? entry.frameBytes : entry.frameBytes - bytesOf(entry, skipped)
      expected = entry.last + 1
      entries.push(entry)
      return records < limit.records && bytes < limit.bytes && expected < row.next
    }
    if (!first) throw missing(name, from)
    if (!take(first)) return entries
    const range = this.#table.getRange({ start: entryKey(row.id, expected), end: entryEnd(row.id) })
    for (const { key, value } of range) {
      let entry: Entry
      try {
        entry = new Entry(view(value), name, lastOf(key), expected)
      } catch (error) {
        if (entries.length > 0) return entries
        throw error
      }
      if (!take(entry)) {
        this.#remember(row.id, entry)
        return entries
      }
    }
    if (expected < row.next) throw missing(name, expected)
    return entries
  }

  #entryAt(name: string, row: TopicRow, offset: number): Entry | undefined {
    const range = { start: entryKey(row.id, offset), end: entryEnd(row.id), limit: 1 }
    for (const key of this.#table.getKeys(range)) {
      const last = lastOf(key)
      const known = this.#cache.get(cacheKey(row.id, last))
      if (known) return known
      const entry = new Entry(view(this.#table.getBinary(view(key))!), name, last, offset)
      this.#remember(row.id, entry)
      return entry
    }
    return undefined
  }

  /** Binary search over entries: all records of one carry its timestamp. */
  #firstSince(name: string, row: TopicRow, timestamp: number): number {
    let low = row.earliest
    let high = row.next
    while (low < high) {
      const middle = Math.floor((low + high) / 2)
      const entry = this.#entryAt(name, row, middle)
      if (!entry) throw missing(name, middle)
      if (entry.timestamp < timestamp) low = entry.last + 1
      else high = Math.max(low, entry.base)
    }
    return low
  }

  #row(name: string): TopicRow | undefined {
    const row = this.#table.get(topicKey(name))
    return row && decodeTopicRow(row, name)
  }

  #remember(topicId: number, entry: Entry): void {
    if (entry.size > cachedEntryBytes) return
    const key = cacheKey(topicId, entry.last)
    this.#cache.delete(key)
    this.#cache.set(key, entry)
    if (this.#cache.size <= cachedEntries) return
    for (const oldest of this.#cache.keys()) {
      this.#cache.delete(oldest)
      break
    }
  }

  #page<R>(read: () => R): R {
    try {
      return read()
    } finally {
      this.#table.resetReadTxn()
    }
  }
}

function envelope<T>(topic: Topic<T>, entry: Entry, i: number): Envelope<T> {
  const offset = entry.base + i
  const where = `topic ${topic.name} offset ${offset}`
  const part = entry.part(i)
  return {
    topic: topic.name,
    offset,
    timestamp: entry.timestamp,
    key: entry.key(i),
    headers: entry.headers(i),
    value: entry.intact
      ? topic.decode(entry.bytes, where, part)
      : topic.decode(entry.bytes.subarray(part.start, part.end), where),
    bytes: part.end - part.start,
  }
}

function bytesOf(entry: Entry, records: number): number {
  let bytes = 0
  for (let i = 0; i < records; i++) bytes += entry.frameLength(i)
  return bytes
}

function cacheKey(topicId: number, last: number): string {
  return `${topicId}/${last}`
}

function gone(topic: string, offset: number, earliest: number): CascadeError {
  return new CascadeError(
    'LOG_OFFSET_GONE',
    `topic ${topic} offset ${offset}: expected an offset from ${earliest} on, retention has removed those before`,
    { context: { topic, offset, earliest } },
  )
}

function missing(topic: string, offset: number): CascadeError {
  return new CascadeError('RECORD_CORRUPT', `topic ${topic} offset ${offset}: expected a record, got none`, {
    context: { topic, offset },
  })
}
