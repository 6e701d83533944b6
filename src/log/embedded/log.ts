import { setImmediate } from 'node:timers/promises'
import type {
  Clock,
  Commit,
  Committed,
  Fetched,
  FetchLimit,
  PositionState,
  Start,
  TopicInfo,
} from '../../../streams/ports.ts'
import { CascadeError, isCascadeError } from '../../../topics/errors.ts'
import type { Topic } from '../../../topics/topic.ts'
import { Appender } from './appender.ts'
import type { EmbeddedLog, LogOptions, Retained } from './contract.ts'
import { type Environment, mapped } from './environment.ts'
import type { Inbox, InboxEntry } from './inbox.ts'
import { encodeTopicRow, entryKey, takenKey, topicKey } from './layout.ts'
import { LogReader } from './reader.ts'
import { planRemoval, type Removal } from './retention.ts'
import { Waiters } from './waiters.ts'
import { releaseWriter } from './writer-claim.ts'

/** Milliseconds of reading after which the event loop has its turn. */
const turnMs = 10

type Retainable = Pick<Topic<unknown>, 'name' | 'retention'>

interface Hold {
  readonly topic: string
  readonly offset: number
}

export class Log implements EmbeddedLog {
  readonly dir: string
  readonly mode: 'append' | 'read'
  readonly epoch: number
  readonly window: number
  readonly #clock: Clock
  readonly #pollMs: number
  readonly #warn: (error: CascadeError) => void
  readonly #environment: Environment
  readonly #reader: LogReader
  readonly #waiters = new Waiters()
  readonly #holds = new Set<Hold>()
  readonly #inbox: Inbox | undefined
  readonly #appender: Appender | undefined
  readonly #closing = new AbortController()
  #turned = 0
  #poll: NodeJS.Timeout | undefined
  #clearing: Promise<void> = Promise.resolve()
  #closed: Promise<void> | undefined

  /** @param inbox of the process that appends; without one the log is read only */
  constructor(options: LogOptions, environment: Environment, epoch: number, inbox: Inbox | undefined) {
    this.dir = options.dir
    this.mode = options.mode
    this.epoch = epoch
    this.window = options.window ?? 4096
    this.#clock = options.clock
    this.#pollMs = options.pollMs ?? 25
    this.#warn = options.onWarning ?? ((error) => process.emitWarning(error))
    this.#environment = environment
    this.#reader = new LogReader(environment.log)
    this.#inbox = inbox
    if (!inbox) return
    this.#appender = new Appender({
      environment,
      epoch,
      clock: options.clock,
      window: this.window,
      entryBytes: options.entryBytes ?? 64 * 1024,
      maxRecordBytes: options.maxRecordBytes ?? 256 * 1024 * 1024,
      pending: (id) => inbox.has(id),
      onAppended: (topic, next) => this.#waiters.wake(topic, next),
      onTaken: (ids) => {
        if (ids.length > 0) this.#clearSoon()
      },
    })
    const readerCheck = setInterval(() => environment.root.readerCheck(), 60_000).unref()
    this.#closing.signal.addEventListener('abort', () => clearInterval(readerCheck))
  }

  async fetch<T>(topic: Topic<T>, from: number, limit: FetchLimit): Promise<Fetched<T>> {
    // Reading never waits, and whoever awaits it would keep timers, signals and messages out until the topic's end.
    if (performance.now() - this.#turned > turnMs) {
      await setImmediate()
      this.#turned = performance.now()
    }
    return this.#read(() => this.#reader.fetch(topic, from, limit))
  }

  async wait(topic: string, offset: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    const row = this.#read(() => this.#reader.row(topic))
    if (row && row.next > offset) return
    // Nobody else wakes a reader of another process's records.
    if (!this.#appender) this.#poll ??= setInterval(() => this.#lookForRecords(), this.#pollMs)
    await this.#waiters.add(topic, offset, signal)
  }

  async commit(tx: Commit): Promise<Committed> {
    return this.#writable().appender.commit(tx)
  }

  async position(group: string, topic: string): Promise<PositionState> {
    const state = this.#read(() => this.#reader.position(group, topic))
    const known = this.#appender?.state
    known?.register(group, topic, known.position(group, topic))
    return state
  }

  async offset(topic: string, at: Start): Promise<number> {
    return this.#read(() => this.#reader.offset(topic, at))
  }

  async topics(): Promise<TopicInfo[]> {
    return this.#read(() => this.#reader.topics())
  }

  async *inbox(signal: AbortSignal): AsyncGenerator<InboxEntry> {
    const { inbox, appender } = this.#writable()
    const ending = AbortSignal.any([signal, this.#closing.signal])
    yield* inbox.entries(ending, (id) => appender.state.taken.has(id))
  }

  hold(topic: string, offset: number): Disposable {
    this.#writable()
    const hold = { topic, offset }
    this.#holds.add(hold)
    return {
      [Symbol.dispose]: () => {
        this.#holds.delete(hold)
      },
    }
  }

  async retain(topics: readonly Retainable[]): Promise<Retained[]> {
    const { appender } = this.#writable()
    const retained: Retained[] = []
    for (const topic of topics) {
      let records = 0
      let bytes = 0
      // A removal at a time, so that commits that wait come in between.
      for (;;) {
        const removal = await appender.exclusive(() => this.#remove(appender, topic))
        if (!removal) break
        records += removal.records
        bytes += removal.bytes
      }
      retained.push({ topic: topic.name, records, bytes })
    }
    return retained
  }

  /**
   * Removes the files of inbox entries that are records now, then what says so: a crash in between leaves an
   * entry that is known to be taken.
   */
  async clearTaken(): Promise<void> {
    const { appender, inbox } = this.#writable()
    const ids = [...appender.state.taken]
    if (ids.length === 0) return
    await inbox.remove(ids)
    await appender.exclusive(async () => {
      await appender.write(() => {
        for (const id of ids) void this.#environment.log.remove(takenKey(id))
      })
      for (const id of ids) appender.state.taken.delete(id)
    })
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    this.#closing.abort()
    clearInterval(this.#poll)
    this.#waiters.reject(this.#closedError())
    try {
      await this.#appender?.stop()
      await this.#clearing
      if (this.#appender) await releaseWriter(this.#environment, this.epoch)
    } catch (error) {
      // All commits are durable by now; the claim of a dead process is taken over.
      this.#warn(mapped(error, this.#environment.path))
    } finally {
      await this.#environment.close()
    }
  }

  async #remove(appender: Appender, { name, retention }: Retainable): Promise<Removal | undefined> {
    const row = appender.state.topics.get(name)
    if (!row) return undefined
    let limit = appender.state.floor(name)
    for (const hold of this.#holds) if (hold.topic === name) limit = Math.min(limit, hold.offset)
    const removal = planRemoval(row, retention, this.#clock.now(), limit, (at, offset) =>
      this.#reader.entryAt(name, at, offset),
    )
    if (!removal) return undefined
    const { log } = this.#environment
    await appender.write(() => {
      for (const last of removal.lasts) void log.remove(entryKey(row.id, last))
      void log.put(topicKey(name), encodeTopicRow(removal.row))
    })
    appender.state.topics.set(name, removal.row)
    return removal
  }

  #clearSoon(): void {
    this.#clearing = this.#clearing
      .then(() => this.clearTaken())
      .catch((error) => {
        // The rows stay, and the next commit that takes an entry, or the next start, clears them.
        if (!isCascadeError(error, 'LOG_CLOSED')) this.#warn(mapped(error, this.#environment.path))
      })
  }

  #lookForRecords(): void {
    const { topics } = this.#waiters
    if (topics.length === 0) {
      clearInterval(this.#poll)
      this.#poll = undefined
      return
    }
    try {
      for (const topic of topics) this.#waiters.wake(topic, this.#reader.row(topic)?.next ?? 0)
    } catch (error) {
      this.#waiters.reject(mapped(error, this.#environment.path))
    }
  }

  #read<R>(read: () => R): R {
    if (this.#closed) throw this.#closedError()
    try {
      return read()
    } catch (error) {
      throw mapped(error, this.#environment.path)
    }
  }

  #writable(): { appender: Appender; inbox: Inbox } {
    if (!this.#appender || !this.#inbox) {
      throw new CascadeError(
        'LOG_READ_ONLY',
        `${this.dir}: expected a log opened for appending, got one for reading`,
      )
    }
    return { appender: this.#appender, inbox: this.#inbox }
  }

  #closedError(): CascadeError {
    return new CascadeError('LOG_CLOSED', `${this.dir}: the log is closed`)
  }
}
