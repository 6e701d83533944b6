import type { Envelope, Fetched, FetchLimit, Start } from '../../streams/ports.ts'
import type { Topic } from '../../topics/index.ts'
import { MemoryLog, type MemoryLogOptions } from './memory-log.ts'

export interface NumbersLogOptions<T> extends MemoryLogOptions {
  readonly topic: string
  readonly count: number
  readonly bytes: number
  readonly value: (offset: number) => T
}

/** A memory log with one topic whose records are made while they are read: a million of them occupy nothing. */
export class NumbersLog<T> extends MemoryLog {
  readonly #numbers: NumbersLogOptions<T>

  constructor(options: NumbersLogOptions<T>) {
    super(options)
    this.#numbers = options
  }

  override async fetch<V>(topic: Topic<V>, from: number, limit: FetchLimit): Promise<Fetched<V>> {
    const { topic: name, count, bytes, value } = this.#numbers
    if (topic.name !== name) return super.fetch(topic, from, limit)
    this.fetches += 1
    const room = Math.min(limit.records, Math.max(1, Math.floor(limit.bytes / bytes)))
    const next = Math.min(count, from + room)
    const records: Envelope<V>[] = []
    for (let offset = from; offset < next; offset++) {
      records.push({
        topic: name,
        offset,
        timestamp: 0,
        key: '',
        headers,
        value: value(offset) as never,
        bytes,
      })
    }
    return { records, next: Math.max(from, next) }
  }

  override async offset(topic: string, at: Start): Promise<number> {
    if (topic !== this.#numbers.topic) return super.offset(topic, at)
    return at === 'latest' ? this.#numbers.count : 0
  }
}

const headers = Object.freeze({})
