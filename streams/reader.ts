import { asapScheduler, type Subscriber } from 'rxjs'
import type { Topic } from '../topics/index.ts'
import { deadLetter } from './dead-letter.ts'
import { Carried, type Delivery } from './delivery.ts'
import { CreditLedger, Hold } from './ledger.ts'
import { attempt } from './operate.ts'
import type { Envelope, Fetched, FetchLimit, Position, TopicLog } from './ports.ts'
import type { Overflow, SourceOptions } from './source-options.ts'
import { tolerant, Undecodable } from './undecodable.ts'

const defaultPage: FetchLimit = { records: 1024, bytes: 4 * 1024 * 1024 }
const unsettling: readonly Position[] = []

type ReaderOptions = SourceOptions & { overflow: Overflow; onDecodeError: 'fail' | 'dead-letter' }

/** What a subscription leaves to the next one of the same source. */
export interface Aftermath {
  /** Credit of deliveries that were still being worked on when it completed. */
  ledger?: CreditLedger
  /** A commit that was in flight when it ended: the position is right only after it. */
  commit?: Promise<unknown>
}

/**
 * The one loop behind a source, for one subscription. Each step ends by asking for exactly one thing (credit, a
 * page, a position, more of the topic), whose answer takes the next step: nothing is ever asked for twice at a time.
 */
export class Reader<T> {
  readonly #log: TopicLog
  readonly #topic: Topic<T>
  readonly #options: ReaderOptions
  readonly #out: Subscriber<Delivery<Envelope<T>>>
  readonly #page: FetchLimit
  readonly #ledger: CreditLedger
  readonly #aftermath: Aftermath
  readonly #stop = new AbortController()
  #next = 0
  #until = Number.POSITIVE_INFINITY
  #floor = 0
  /** Settled already, ascending; `#skip` counts those that have been passed. */
  #beyond: readonly number[] = []
  #skip = 0
  /** Bytes of the record at `#next` where it is known not to have fitted. */
  #need = 1
  #closed = false
  #finished = false
  #withdraw: (() => void) | undefined
  /** Credit taken for a page that is not here yet. */
  #reserved: FetchLimit | undefined
  /** Waits for the floor to move; `#moved` remembers a release that came while the position was being read. */
  #atWindow = false
  #moved = false

  constructor(
    log: TopicLog,
    topic: Topic<T>,
    options: ReaderOptions,
    out: Subscriber<Delivery<Envelope<T>>>,
    aftermath: Aftermath,
  ) {
    this.#log = log
    this.#topic = options.onDecodeError === 'dead-letter' ? tolerant(topic) : topic
    this.#options = options
    this.#out = out
    this.#page = options.page ?? defaultPage
    this.#aftermath = aftermath
    this.#ledger = new CreditLedger(options.credit, () => this.#released())
  }

  start(): void {
    const { signal, until } = this.#options
    this.#aftermath.ledger?.close()
    if (signal?.aborted) {
      this.#finish()
      return
    }
    if (signal) {
      const stop = () => this.#finish()
      signal.addEventListener('abort', stop, { once: true })
      this.#out.add(() => signal.removeEventListener('abort', stop))
    }
    if (typeof until === 'number') this.#until = until
    const { commit } = this.#aftermath
    if (commit)
      this.#then(
        () => commit,
        () => this.#locate(),
      )
    else this.#locate()
  }

  #locate(): void {
    const { group, from = 'earliest', until } = this.#options
    const begin = () => {
      if (group === undefined) {
        this.#then(
          () => this.#log.offset(this.#topic.name, from),
          (offset) => {
            this.#next = offset
            this.#step()
          },
        )
        return
      }
      this.#then(
        () => this.#log.position(group, this.#topic.name),
        (position) => {
          this.#floor = position.floor
          this.#beyond = position.beyond
          this.#next = position.floor
          this.#step()
        },
      )
    }
    if (until !== 'end') {
      begin()
      return
    }
    this.#then(
      () => this.#log.offset(this.#topic.name, 'latest'),
      (end) => {
        this.#until = end
        begin()
      },
    )
  }

  /** Stops whatever it waits for. Returns the credit of what was handed out, unless that can still be written. */
  close(): void {
    this.#halt()
    if (!this.#finished) this.#ledger.close()
  }

  /** Stops the intake; what was handed out keeps its credit until it is written. */
  #finish(): void {
    if (this.#closed) return
    this.#finished = true
    this.#halt()
    if (this.#reserved) this.#ledger.release(this.#reserved.records, this.#reserved.bytes)
    this.#aftermath.ledger = this.#ledger
    this.#out.complete()
  }

  #halt(): void {
    if (this.#closed) return
    this.#closed = true
    this.#withdraw?.()
    this.#stop.abort()
  }

  #then<V>(ask: () => Promise<V>, use: (value: V) => void): void {
    attempt(ask).then(
      (value) => {
        if (this.#closed) return
        try {
          use(value)
        } catch (error) {
          this.#out.error(error)
        }
      },
      (error) => {
        if (!this.#closed) this.#out.error(error)
      },
    )
  }

  #step(): void {
    if (this.#closed) return
    if (this.#next >= this.#until) {
      this.#finish()
      return
    }
    const { group, credit, overflow } = this.#options
    let room = Math.min(this.#page.records, this.#until - this.#next)
    if (group !== undefined) {
      const window = this.#floor + this.#log.window - this.#next
      // Looked up again well before the window closes, so that its edge is met by a slow floor only.
      if (window < room && this.#moved) {
        this.#refresh(group)
        return
      }
      if (window < 1) {
        this.#atWindow = true
        return
      }
      room = Math.min(room, window)
    }
    if (this.#need === 1) {
      const taken = credit.takeUpTo(room, this.#page.bytes)
      if (taken.records > 0) {
        this.#fetch(this.#reserve(taken))
        return
      }
    } else if (credit.take(1, this.#need)) {
      this.#fetch(this.#reserve({ records: 1, bytes: this.#need }))
      return
    }
    const need = this.#need
    this.#withdraw = credit.request(1, need, () => {
      this.#withdraw = undefined
      const extra = credit.takeUpTo(room - 1, Math.max(0, this.#page.bytes - need))
      const taken = this.#reserve({ records: 1 + extra.records, bytes: need + extra.bytes })
      if (overflow === 'suspend') this.#fetch(taken)
      else this.#skipAhead(taken)
    })
  }

  #refresh(group: string): void {
    this.#moved = false
    this.#then(
      () => this.#log.position(group, this.#topic.name),
      (position) => {
        this.#floor = position.floor
        this.#step()
      },
    )
  }

  #released(): void {
    this.#moved = true
    if (!this.#atWindow) return
    this.#atWindow = false
    // A release only marks: nothing is pulled inside it.
    const later = asapScheduler.schedule(() => {
      this.#withdraw = undefined
      this.#step()
    })
    this.#withdraw = () => later.unsubscribe()
  }

  /** Credit was used up until now: what came meanwhile is overflow. */
  #skipAhead(taken: FetchLimit): void {
    this.#then(
      () => this.#log.offset(this.#topic.name, 'latest'),
      (end) => {
        const keep = this.#options.overflow === 'sliding' ? this.#options.credit.limit.records : 0
        const next = Math.max(this.#next, Math.min(end, this.#until) - keep)
        if (next > this.#next) this.#options.onDrop?.(next - this.#next)
        this.#next = next
        this.#fetch(taken)
      },
    )
  }

  #reserve(taken: FetchLimit): FetchLimit {
    this.#ledger.add(taken.records, taken.bytes)
    this.#reserved = taken
    return taken
  }

  #fetch(taken: FetchLimit): void {
    this.#then(
      () => this.#log.fetch(this.#topic, this.#next, taken),
      (page) => {
        this.#reserved = undefined
        if (page.records.length > 0) {
          this.#handOut(page, taken)
          return
        }
        this.#ledger.release(taken.records, taken.bytes)
        this.#atEnd(page)
      },
    )
  }

  #atEnd(page: Fetched<T>): void {
    this.#next = Math.max(this.#next, page.next)
    if (this.#next >= this.#until || this.#options.until === 'end') this.#finish()
    else
      this.#then(
        () => this.#log.wait(this.#topic.name, this.#next, this.#stop.signal),
        () => this.#step(),
      )
  }

  #handOut(page: Fetched<T>, taken: FetchLimit): void {
    const { group } = this.#options
    const edge = group === undefined ? Number.POSITIVE_INFINITY : this.#floor + this.#log.window
    let { records, bytes } = taken
    let broken: Envelope<T> | undefined
    this.#need = 1
    let next = page.next
    for (const record of page.records) {
      if (record.offset >= this.#until || record.offset >= edge || records < 1) {
        next = record.offset
        break
      }
      if (this.#settled(record.offset)) continue
      if (record.bytes > bytes) {
        next = record.offset
        this.#need = Math.max(1, record.bytes)
        break
      }
      if (record.value instanceof Undecodable) {
        broken = record
        next = record.offset + 1
        break
      }
      records -= 1
      bytes -= record.bytes
      const positions =
        group === undefined ? unsettling : [{ group, topic: record.topic, offset: record.offset }]
      this.#out.next(new Carried(record, positions, record.bytes, new Hold(this.#ledger, 1, record.bytes)))
      if (this.#closed) break
    }
    this.#ledger.release(records, bytes)
    this.#next = next
    if (broken) this.#bury(broken)
    else this.#step()
  }

  #settled(offset: number): boolean {
    const beyond = this.#beyond
    while (this.#skip < beyond.length && beyond[this.#skip]! < offset) this.#skip += 1
    return beyond[this.#skip] === offset
  }

  #bury(record: Envelope<T>): void {
    const { group = '' } = this.#options
    const { raw, error } = record.value as Undecodable
    const letter = deadLetter({ operator: 'source', source: record, raw, error, attempts: 1 })
    const settle = [{ group, topic: record.topic, offset: record.offset }]
    const commit = attempt(() => this.#log.commit({ append: [letter], settle }))
    this.#aftermath.commit = commit
    this.#then(
      () => commit,
      () => {
        this.#aftermath.commit = undefined
        this.#moved = true
        this.#step()
      },
    )
  }
}
