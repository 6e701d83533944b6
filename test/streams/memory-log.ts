import type {
  Commit,
  Committed,
  Envelope,
  Fetched,
  FetchLimit,
  Position,
  PositionState,
  Start,
  TopicInfo,
  TopicLog,
} from '../../streams/ports.ts'
import { CascadeError, type Topic } from '../../topics/index.ts'

interface Stored {
  readonly timestamp: number
  readonly key: string
  readonly headers: Readonly<Record<string, string>>
  readonly frame: Uint8Array
}

/** What one reader has settled: everything below the floor, and some beyond it. */
export class Settled {
  floor = 0
  readonly beyond = new Set<number>()

  add(offset: number): void {
    this.beyond.add(offset)
    while (this.beyond.delete(this.floor)) this.floor += 1
  }

  state(): PositionState {
    return { floor: this.floor, beyond: [...this.beyond].sort((a, b) => a - b) }
  }
}

export interface MemoryLogOptions {
  window?: number
  /** Runs before each commit; a test makes it fail or wait. */
  beforeCommit?: (tx: Commit) => Promise<void> | void
}

/** The port over arrays: records are stored as the frames that a real log stores. */
export class MemoryLog implements TopicLog {
  readonly window: number
  readonly #topics = new Map<string, Stored[]>()
  readonly #positions = new Map<string, Settled>()
  readonly #waiters = new Set<() => void>()
  readonly #options: MemoryLogOptions
  #turn: Promise<unknown> = Promise.resolve()
  #clock = 0
  commits = 0
  fetches = 0

  constructor(options: MemoryLogOptions = {}) {
    this.window = options.window ?? 4096
    this.#options = options
  }

  async fetch<T>(topic: Topic<T>, from: number, limit: FetchLimit): Promise<Fetched<T>> {
    this.fetches += 1
    const stored = this.#records(topic.name)
    const records: Envelope<T>[] = []
    let bytes = 0
    for (let offset = from; offset < stored.length && records.length < limit.records; offset++) {
      const { frame, ...rest } = stored[offset]!
      bytes += frame.length
      if (records.length > 0 && bytes > limit.bytes) break
      const value = topic.decode(frame, `${topic.name}@${offset}`)
      records.push({ topic: topic.name, offset, ...rest, value, bytes: frame.length })
    }
    return { records, next: from + records.length }
  }

  async wait(topic: string, offset: number, signal: AbortSignal): Promise<void> {
    while (this.#records(topic).length <= offset) {
      signal.throwIfAborted()
      await new Promise<void>((resolve, reject) => {
        this.#waiters.add(resolve)
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
    }
  }

  /** One after the other, as a log with one writer does. */
  commit(tx: Commit): Promise<Committed> {
    const done = this.#turn.then(() => this.#commit(tx))
    this.#turn = done.catch(() => undefined)
    return done
  }

  async #commit(tx: Commit): Promise<Committed> {
    await this.#options.beforeCommit?.(tx)
    const frames = tx.append.map((a) => a.topic.encode(a.value))
    this.#check(tx.settle)
    const offsets = tx.append.map((a, i) => {
      const stored = this.#records(a.topic.name)
      this.#clock += 1
      stored.push({
        timestamp: this.#clock,
        key: a.topic.key(a.value),
        headers: a.headers ?? {},
        frame: frames[i]!,
      })
      return stored.length - 1
    })
    for (const p of tx.settle) this.#settled(p.group, p.topic).add(p.offset)
    this.commits += 1
    const waiters = [...this.#waiters]
    this.#waiters.clear()
    for (const wake of waiters) wake()
    return { offsets }
  }

  async position(group: string, topic: string): Promise<PositionState> {
    return this.#settled(group, topic).state()
  }

  async offset(topic: string, at: Start): Promise<number> {
    const stored = this.#records(topic)
    if (at === 'earliest') return 0
    if (at === 'latest') return stored.length
    if ('offset' in at) return at.offset
    const found = stored.findIndex((r) => r.timestamp >= at.timestamp)
    return found < 0 ? stored.length : found
  }

  async topics(): Promise<TopicInfo[]> {
    return [...this.#topics].map(([name, stored]) => ({
      name,
      earliest: 0,
      next: stored.length,
      bytes: stored.reduce((sum, r) => sum + r.frame.length, 0),
    }))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#turn
  }

  /** Every value of a topic, for assertions. */
  values<T>(topic: Topic<T>): T[] {
    return this.#records(topic.name).map((r) => topic.decode(r.frame))
  }

  /** Stores a value's bytes as they are: what a broken disk or a foreign writer leaves. */
  corrupt(topic: string, frame: Uint8Array): void {
    this.#clock += 1
    this.#records(topic).push({ timestamp: this.#clock, key: '', headers: {}, frame })
  }

  #records(topic: string): Stored[] {
    let stored = this.#topics.get(topic)
    if (!stored) {
      stored = []
      this.#topics.set(topic, stored)
    }
    return stored
  }

  #settled(group: string, topic: string): Settled {
    const name = `${group}/${topic}`
    let settled = this.#positions.get(name)
    if (!settled) {
      settled = new Settled()
      this.#positions.set(name, settled)
    }
    return settled
  }

  /** As strict as a real log: what is settled twice was read twice. */
  #check(settle: readonly Position[]): void {
    for (const p of settle) {
      const { floor, beyond } = this.#settled(p.group, p.topic)
      if (p.offset < floor || beyond.has(p.offset)) {
        throw new CascadeError('STREAM_PROTOCOL', `${p.group} in ${p.topic}: ${p.offset} is settled already`)
      }
      if (p.offset >= floor + this.window) {
        throw new CascadeError(
          'WINDOW_EXCEEDED',
          `${p.group} in ${p.topic}: expected an offset below ${floor + this.window}, got ${p.offset}`,
        )
      }
    }
  }
}
