import type { Position } from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/errors.ts'
import type { EncodedRecord } from './encode.ts'
import { packEntry } from './entry.ts'
import type { Table } from './environment.ts'
import { encodeTopicRow, entryKey, positionKey, seal, type TopicRow, takenKey, topicKey } from './layout.ts'
import type { LogState } from './log-state.ts'
import type { SettledSet } from './settled.ts'

/** One commit, encoded. */
export interface Job {
  readonly records: readonly EncodedRecord[]
  readonly settle: readonly Position[]
  readonly inbox: readonly string[]
}

export interface TransactionOptions {
  readonly window: number
  readonly entryBytes: number
  readonly timestamp: number
  /** Whether an inbox entry is still there to be taken. */
  readonly pending: (inboxId: string) => boolean
}

interface StagedTopic {
  readonly row: TopicRow
  readonly records: EncodedRecord[]
}

interface Put {
  readonly key: Buffer
  readonly value: Buffer
}

/** Bytes packed in one turn of the event loop. */
const packBytes = 2 * 1024 * 1024

/** The commits that share one LMDB transaction. Settled positions change in the state at once; topics in {@link apply}. */
export class Transaction {
  readonly #state: LogState
  readonly #options: TransactionOptions
  readonly #topics = new Map<string, StagedTopic>()
  readonly #positions = new Map<string, { position: Position; settled: SettledSet }>()
  readonly #taken = new Set<string>()
  readonly #rows: [string, TopicRow][] = []
  readonly #puts: Put[] = []
  #bytes = 0

  constructor(state: LogState, options: TransactionOptions) {
    this.#state = state
    this.#options = options
  }

  /** Bytes of records staged. */
  get bytes(): number {
    return this.#bytes
  }

  /** At most so many bytes of pages hold what {@link pack} has laid out. */
  get pageBytes(): number {
    return this.#puts.reduce((sum, { value }) => sum + value.length + 2 * 4096, 0)
  }

  get inbox(): Iterable<string> {
    return this.#taken
  }

  /**
   * Adds a commit and returns the offsets of its records, or throws and leaves all as it was.
   *
   * @throws `STREAM_PROTOCOL`, `WINDOW_EXCEEDED`.
   */
  stage(job: Job): number[] {
    const readers = this.#check(job)
    for (const { settled, offsets, position } of readers.values()) {
      for (const offset of offsets) settled.settle(offset)
      this.#state.register(position.group, position.topic, settled)
      this.#positions.set(readerKey(position), { position, settled })
    }
    for (const id of job.inbox) this.#taken.add(id)
    return job.records.map((record) => {
      const staged = this.#topic(record.topic)
      staged.records.push(record)
      this.#bytes += record.size
      return staged.row.next + staged.records.length - 1
    })
  }

  /** Lays the records out as entries; gives the event loop a turn between large ones. */
  async pack(): Promise<void> {
    const { entryBytes, timestamp: now } = this.#options
    let packed = 0
    for (const [name, { row, records }] of this.#topics) {
      const timestamp = Math.max(now, row.timestamp)
      let start = 0
      let bytes = row.bytes
      while (start < records.length) {
        let end = start
        let size = 0
        do size += records[end++]!.size
        while (end < records.length && size + records[end]!.size <= entryBytes)
        const value = packEntry(records.slice(start, end), row.next + start, timestamp)
        this.#puts.push({ key: entryKey(row.id, row.next + end - 1), value })
        for (let i = start; i < end; i++) bytes += records[i]!.frame.length
        start = end
        packed += value.length
        if (packed >= packBytes) {
          packed = 0
          await new Promise(setImmediate)
        }
      }
      const after = { ...row, next: row.next + records.length, bytes, timestamp }
      this.#rows.push([name, after])
      this.#puts.push({ key: topicKey(name), value: encodeTopicRow(after) })
    }
    for (const { position, settled } of this.#positions.values()) {
      const topicId = this.#state.topics.get(position.topic)!.id
      this.#puts.push({ key: positionKey(topicId, position.group), value: seal(settled.encode()) })
    }
    for (const id of this.#taken) this.#puts.push({ key: takenKey(id), value: Buffer.from([1]) })
  }

  write(table: Table): void {
    for (const { key, value } of this.#puts) void table.put(key, value)
  }

  /** Takes what was written durably into the state; returns the topics that have new records. */
  apply(): readonly [string, TopicRow][] {
    for (const [name, row] of this.#rows) {
      this.#state.topics.set(name, row)
      this.#state.nextTopicId = Math.max(this.#state.nextTopicId, row.id + 1)
    }
    for (const id of this.#taken) this.#state.taken.add(id)
    return this.#rows
  }

  #check(job: Job): Map<string, { position: Position; settled: SettledSet; offsets: number[] }> {
    const readers = new Map<string, { position: Position; settled: SettledSet; offsets: number[] }>()
    for (const position of job.settle) {
      const key = readerKey(position)
      const reader = readers.get(key)
      if (reader) reader.offsets.push(position.offset)
      else {
        const settled = this.#state.position(position.group, position.topic)
        readers.set(key, { position, settled, offsets: [position.offset] })
      }
    }
    for (const { position, settled, offsets } of readers.values()) {
      offsets.sort((a, b) => a - b)
      const next = this.#state.topics.get(position.topic)?.next ?? 0
      const name = `reader ${position.group} of topic ${position.topic}`
      settled.check(offsets, next, this.#options.window, name)
    }
    const ids = new Set<string>()
    for (const id of job.inbox) {
      if (ids.has(id) || this.#taken.has(id) || this.#state.taken.has(id) || !this.#options.pending(id)) {
        throw new CascadeError(
          'STREAM_PROTOCOL',
          `inbox entry ${id}: expected one not taken yet, got it again`,
        )
      }
      ids.add(id)
    }
    return readers
  }

  #topic(name: string): StagedTopic {
    let staged = this.#topics.get(name)
    if (!staged) {
      // A new topic's id counts on from those that this very transaction creates.
      const created = [...this.#topics.keys()].filter((other) => !this.#state.topics.has(other)).length
      const id = this.#state.nextTopicId + created
      const row = this.#state.topics.get(name) ?? { id, earliest: 0, next: 0, bytes: 0, timestamp: 0 }
      staged = { row, records: [] }
      this.#topics.set(name, staged)
    }
    return staged
  }
}

function readerKey({ group, topic }: Position): string {
  return `${group}\0${topic}`
}
