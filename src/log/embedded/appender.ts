import type { Clock, Commit, Committed, Position } from '../../../streams/ports.ts'
import { CascadeError, isCascadeError } from '../../../topics/errors.ts'
import { checkName, type EncodedRecord, encodeAll } from './encode.ts'
import { type Environment, isFull, mapped } from './environment.ts'
import { LogState } from './log-state.ts'
import { type Job, Transaction } from './transaction.ts'
import { fenced } from './writer-claim.ts'

export interface AppenderOptions {
  readonly environment: Environment
  readonly epoch: number
  readonly clock: Clock
  readonly window: number
  readonly entryBytes: number
  readonly maxRecordBytes: number
  readonly pending: (inboxId: string) => boolean
  /** Called once per transaction and topic, as soon as its records can be fetched. */
  readonly onAppended: (topic: string, next: number) => void
  /** Called with the inbox entries that a durable transaction took. */
  readonly onTaken: (ids: readonly string[]) => void
}

interface QueuedJob {
  readonly kind: 'job'
  readonly settle: readonly Position[]
  readonly inbox: readonly string[]
  readonly resolve: (committed: Committed) => void
  readonly reject: (error: unknown) => void
  /** Undefined while it is being encoded. */
  records: readonly EncodedRecord[] | undefined
  encoded: Promise<void>
}

interface QueuedTask {
  readonly kind: 'task'
  readonly run: () => Promise<void>
}

/** Bytes of records after which a transaction takes no further commit. */
const transactionBytes = 8 * 1024 * 1024

/**
 * The one writer. Commits queue in the order of their calls; each transaction takes all that wait, so their
 * number grows with the time a sync takes. One transaction is under way at a time: offsets are given out when
 * it starts, and a failed one leaves nothing behind.
 */
export class Appender {
  readonly #o: AppenderOptions
  readonly #queue: (QueuedJob | QueuedTask)[] = []
  #state: LogState
  #draining: Promise<void> | undefined
  #closed: CascadeError | undefined
  /** After a failed sync or a lost claim nothing can be promised any more. */
  #broken: CascadeError | undefined

  constructor(options: AppenderOptions) {
    this.#o = options
    this.#state = LogState.load(options.environment.log)
  }

  get state(): LogState {
    return this.#state
  }

  commit(tx: Commit): Promise<Committed> {
    return new Promise((resolve, reject) => {
      this.#checkOpen()
      for (const { group, topic } of tx.settle) {
        checkName('group', group)
        checkName('topic', topic)
      }
      if (tx.append.length + tx.settle.length + (tx.inbox?.length ?? 0) === 0) return resolve({ offsets: [] })
      const encoding = encodeAll(tx.append, this.#o.maxRecordBytes)
      const first = encoding.next()
      const job: QueuedJob = {
        kind: 'job',
        settle: [...tx.settle],
        inbox: [...(tx.inbox ?? [])],
        resolve,
        reject,
        records: first.done ? first.value : undefined,
        encoded: Promise.resolve(),
      }
      this.#enqueue(job)
      if (!first.done) job.encoded = this.#encode(job, encoding)
    })
  }

  /** Runs `task` with no transaction under way, after the commits called before it. */
  exclusive<R>(task: () => Promise<R>): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#checkOpen()
      this.#enqueue({ kind: 'task', run: () => task().then(resolve, reject) })
    })
  }

  /**
   * Runs writes in one transaction of their own; only inside {@link exclusive}.
   *
   * @param bytes of pages that they need at most, beyond a few
   */
  async write(writes: () => void, bytes = 0): Promise<void> {
    if (this.#broken) throw this.#broken
    const { environment, epoch } = this.#o
    let current: boolean
    try {
      await environment.space.reserve(bytes)
    } catch (error) {
      throw this.#failed(mapped(error, environment.path), isFull(error))
    }
    try {
      current = await fenced(environment, epoch, writes)
    } catch (error) {
      throw this.#failed(mapped(await reasonOf(error), environment.path))
    }
    if (current) return
    throw this.#failed(
      new CascadeError(
        'LOG_FENCED',
        `${environment.path}: expected writer epoch ${epoch}, got a later one: another process appends now`,
      ),
    )
  }

  /** Refuses what comes after, and resolves when all before it is written. */
  async stop(): Promise<void> {
    this.#closed ??= new CascadeError('LOG_CLOSED', `${this.#o.environment.path}: the log is closed`)
    await this.#draining
  }

  async #packed(transaction: Transaction): Promise<void> {
    try {
      await transaction.pack()
    } catch (error) {
      throw this.#failed(mapped(error, this.#o.environment.path))
    }
  }

  #checkOpen(): void {
    const error = this.#broken ?? this.#closed
    if (error) throw error
  }

  /** Reads the state again, since staged positions are not settled after all. */
  #failed(error: CascadeError, harmless = false): CascadeError {
    if (!harmless) this.#broken = error
    try {
      const known = this.#state
      this.#state = LogState.load(this.#o.environment.log)
      this.#state.adoptReaders(known)
    } catch (unreadable) {
      this.#broken = mapped(unreadable, this.#o.environment.path)
    }
    return error
  }

  #enqueue(item: QueuedJob | QueuedTask): void {
    this.#queue.push(item)
    this.#draining ??= this.#drain()
  }

  async #encode(job: QueuedJob, encoding: Generator<void, EncodedRecord[]>): Promise<void> {
    try {
      for (;;) {
        await new Promise(setImmediate)
        const slice = encoding.next()
        if (!slice.done) continue
        job.records = slice.value
        return
      }
    } catch (error) {
      this.#queue.splice(this.#queue.indexOf(job), 1)
      job.reject(error)
    }
  }

  async #drain(): Promise<void> {
    // One turn later, so that commits made together share the first transaction.
    await new Promise(setImmediate)
    for (let head = this.#queue[0]; head; head = this.#queue[0]) {
      if (head.kind === 'task') {
        this.#queue.shift()
        await head.run()
      } else if (head.records) await this.#transact()
      else await head.encoded
    }
    this.#draining = undefined
  }

  async #transact(): Promise<void> {
    const { clock, window, entryBytes, pending } = this.#o
    const transaction = new Transaction(this.#state, { window, entryBytes, timestamp: clock.now(), pending })
    const staged: { job: QueuedJob; offsets: number[] }[] = []
    while (transaction.bytes < transactionBytes) {
      const job = this.#queue[0]
      if (job?.kind !== 'job' || !job.records) break
      this.#queue.shift()
      try {
        staged.push({ job, offsets: transaction.stage(job as Job) })
      } catch (error) {
        job.reject(error)
      }
    }
    if (staged.length === 0) return
    try {
      await this.#packed(transaction)
      await this.write(() => transaction.write(this.#o.environment.log), transaction.pageBytes)
    } catch (error) {
      for (const { job } of staged) job.reject(error)
      return
    }
    const rows = transaction.apply()
    for (const [topic, row] of rows) this.#o.onAppended(topic, row.next)
    this.#o.onTaken([...transaction.inbox])
    for (const { job, offsets } of staged) job.resolve({ offsets })
  }
}

/** LMDB rejects a commit with a general error whose `commitError` rejects with the reason. */
async function reasonOf(error: unknown): Promise<unknown> {
  if (isCascadeError(error) || !(error instanceof Error) || !('commitError' in error)) return error
  try {
    await error.commitError
    return error
  } catch (reason) {
    return reason
  }
}
