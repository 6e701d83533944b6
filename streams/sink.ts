import { asapScheduler, type Observable, type Subscriber } from 'rxjs'
import { CascadeError } from '../topics/index.ts'
import type { Delivery } from './delivery.ts'
import { attempt, type Handlers, operate } from './operate.ts'
import type { Append, Position, TopicLog } from './ports.ts'

export interface SinkOptions {
  /** Appended and settled records of one commit, at most, unless a single delivery has more. @default 4,096 */
  maxRecords?: number
  /** Bytes of credit behind one commit, at most, unless a single delivery holds more. @default 16 MiB */
  maxBytes?: number
}

/** One commit as it was made. */
export interface Written {
  /** Offsets of the appended records, delivery after delivery. */
  readonly offsets: readonly number[]
  readonly deliveries: readonly Delivery<readonly Append[]>[]
}

export interface Sink {
  (source: Observable<Delivery<readonly Append[]>>): Observable<Written>
  /**
   * Resolves when no commit is in flight. A commit outlives the subscription that began it: await this after
   * unsubscribing and before subscribing to the source again. Rejects with the error of a commit that failed
   * after its subscription had ended.
   */
  drained(): Promise<void>
}

/**
 * Commits the outputs of finished deliveries together with the positions that they settle, in whatever order they
 * come. What becomes ready while a commit is in flight makes the next one: batches grow with the load, and no
 * finished output waits for another or for a timer. Credit returns once its delivery is written.
 *
 * Errors: those of `TopicLog.commit`, which are the end of the stream; nothing of that commit is written.
 */
export function sink(log: TopicLog, options: SinkOptions = {}): Sink {
  const { maxRecords = 4096, maxBytes = 16 * 1024 * 1024 } = options
  if (!(maxRecords >= 1 && maxBytes >= 1)) {
    throw new CascadeError(
      'CONFIG_INVALID',
      `sink: expected maxRecords and maxBytes of at least 1, got ${maxRecords} and ${maxBytes}`,
    )
  }
  const flights = new Flights()
  const through = operate<Delivery<readonly Append[]>, Written>(
    (out) => new Writer(log, { maxRecords, maxBytes }, flights, out),
  )
  return Object.assign(through, { drained: () => flights.drained() })
}

/** Commits in flight, over all subscriptions of a sink. */
class Flights {
  #count = 0
  #failure: { error: unknown } | undefined
  #waiters: (() => void)[] = []

  started(): void {
    this.#count += 1
  }

  ended(): void {
    this.#count -= 1
    if (this.#count > 0) return
    const waiters = this.#waiters
    this.#waiters = []
    for (const wake of waiters) wake()
  }

  /** A failure that no subscriber is left to hear of. */
  failed(error: unknown): void {
    this.#failure ??= { error }
  }

  async drained(): Promise<void> {
    if (this.#count > 0) await new Promise<void>((resolve) => this.#waiters.push(resolve))
    const failure = this.#failure
    this.#failure = undefined
    if (failure) throw failure.error
  }
}

/** One subscription of a sink. */
class Writer implements Handlers<Delivery<readonly Append[]>> {
  readonly #log: TopicLog
  readonly #limit: { maxRecords: number; maxBytes: number }
  readonly #flights: Flights
  readonly #out: Subscriber<Written>
  /** Finished and not yet in a commit; its length is bounded by the credit that each entry holds. */
  #ready: Delivery<readonly Append[]>[] = []
  #busy = false
  #ended = false

  constructor(
    log: TopicLog,
    limit: { maxRecords: number; maxBytes: number },
    flights: Flights,
    out: Subscriber<Written>,
  ) {
    this.#log = log
    this.#limit = limit
    this.#flights = flights
    this.#out = out
  }

  next(delivery: Delivery<readonly Append[]>): void {
    this.#ready.push(delivery)
    if (this.#busy) return
    this.#busy = true
    // Later, so that all of a page that is handed out in one go shares a commit.
    this.#out.add(asapScheduler.schedule(() => this.#commit()))
  }

  /** Completes as soon as everything is written. */
  complete(): void {
    this.#ended = true
    if (!this.#busy) this.#out.complete()
  }

  #commit(): void {
    const deliveries = this.#cut()
    const append: Append[] = []
    const settle: Position[] = []
    for (const d of deliveries) {
      for (const a of d.value) append.push(a)
      for (const p of d.positions) settle.push(p)
    }
    this.#flights.started()
    attempt(() => this.#log.commit({ append, settle })).then(
      ({ offsets }) => this.#written({ offsets, deliveries }),
      (error) => {
        if (this.#out.closed) this.#flights.failed(error)
        this.#flights.ended()
        this.#out.error(error)
      },
    )
  }

  #cut(): Delivery<readonly Append[]>[] {
    const { maxRecords, maxBytes } = this.#limit
    let records = 0
    let bytes = 0
    let n = 0
    for (const d of this.#ready) {
      records += Math.max(d.value.length, d.positions.length)
      bytes += d.bytes
      if (n > 0 && (records > maxRecords || bytes > maxBytes)) break
      n += 1
    }
    if (n === this.#ready.length) {
      const all = this.#ready
      this.#ready = []
      return all
    }
    return this.#ready.splice(0, n)
  }

  #written(written: Written): void {
    for (const d of written.deliveries) d.release()
    this.#flights.ended()
    this.#out.next(written)
    if (this.#out.closed) return
    if (this.#ready.length > 0) {
      this.#commit()
      return
    }
    this.#busy = false
    if (this.#ended) this.#out.complete()
  }
}
