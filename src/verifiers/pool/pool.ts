import type { Verdict } from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/index.ts'
import { defaultLimits, type Limits } from './limits.ts'
import type { Target } from './protocol.ts'
import { Slot } from './slot.ts'
import { type Judged, Task } from './task.ts'

export interface PoolOptions {
  /** Child processes that judge at the same time. */
  size: number
  limits?: Partial<Limits>
  /** Requests that a child gets at once while many quick ones wait, at most. @default 32 */
  chunk?: number
  /** A child that is not ready after so many milliseconds is replaced. @default 30,000 */
  startMs?: number
}

/** Limits are looked at this often, in milliseconds: they are exceeded by so much at most. */
const checkMs = 50
/** What takes this thread longer than so many milliseconds holds up what it reads. */
const busyMs = 20
/** A child gets at once what takes it about so many milliseconds, as requests have taken so far: it asks seldom, and hoards nothing. */
const chunkMs = 10
/** Weight of the latest request in the mean of what they take. */
const latest = 0.1
/** Children in a row that could not start, before what waits is answered with an error. */
const maxFailedStarts = 3
/** After those, and after an outage, a start is tried so often, in milliseconds. */
const restartMs = 1_000
/** Children that may end under a request which they have not begun with. */
const maxStrandings = 3

/**
 * A fixed number of processes that judge, and a spare one once it has been needed. A request that hangs, crashes its process or passes a limit is answered with an error and
 * its process replaced; what that process had yet to do is done by another. Every request is settled, by a verdict or its signal.
 */
export class Pool implements AsyncDisposable {
  readonly #size: number
  /** As many as judge, and from the first loss on a spare one, so that a process that is lost is replaced by one that has started. */
  readonly #slots: Slot[]
  readonly #target: Target
  readonly #limits: Limits
  readonly #chunk: number
  readonly #startMs: number
  readonly #timer: NodeJS.Timeout
  #queue: Task[] = []
  #serial = 0
  #failedStarts = 0
  #lastFailure = ''
  /** Milliseconds that a request takes; unknown before the first verdict. */
  #meanMs = Number.POSITIVE_INFINITY
  #restarts = 0
  #closed: (() => void) | undefined
  readonly #started: Promise<void>
  #startEnds: { resolve(): void; reject(reason: Error): void } | undefined

  /** @throws CascadeError CONFIG_INVALID for a size that is no whole number above 0 */
  constructor(target: Target, options: PoolOptions) {
    if (!(Number.isInteger(options.size) && options.size > 0))
      throw new CascadeError('CONFIG_INVALID', `pool: expected a size of at least 1, got ${options.size}`)
    this.#target = target
    this.#limits = { ...defaultLimits, ...options.limits }
    this.#chunk = options.chunk ?? 32
    this.#startMs = options.startMs ?? 30_000
    this.#size = options.size
    this.#slots = Array.from({ length: options.size }, () => this.#newSlot())
    this.#started = new Promise((resolve, reject) => {
      this.#startEnds = { resolve, reject }
    })
    // Who does not ask whether it has started is told by the verdicts.
    this.#started.catch(() => undefined)
    for (const slot of this.#slots) slot.start()
    this.#timer = setInterval(() => this.#afterReading(performance.now()), checkMs)
  }

  /**
   * When the first child is ready to judge.
   *
   * @throws CascadeError VERIFIER_FAILED when several in a row could not start before that, with the reason of the last
   */
  get started(): Promise<void> {
    return this.#started
  }

  /** Children that have been replaced. */
  get restarts(): number {
    return this.#restarts
  }

  /** Process ids of the children that live. */
  get pids(): number[] {
    return this.#slots.flatMap((slot) => (slot.pid === undefined ? [] : [slot.pid]))
  }

  /**
   * One verdict. An abort frees the process within 200 ms; others that it held are judged elsewhere.
   *
   * @throws the signal's reason
   */
  submit(request: unknown, signal?: AbortSignal): Promise<Judged> {
    const task = new Task(++this.#serial, request, signal, (cancelled) => this.#cancel(cancelled))
    if (this.#closed) task.answer(failed('the pool is closed', false), 0)
    if (task.settled) return task.verdict
    if (this.#failedStarts >= maxFailedStarts) {
      task.answer(failed(this.#lastFailure, true), 0)
      return task.verdict
    }
    this.#queue.push(task)
    // Requests that come in the same turn are dealt out together.
    if (this.#queue.length === 1) queueMicrotask(() => this.#dispatch())
    return task.verdict
  }

  /** Ends all children at once; what waits is answered with an error. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return
    const closed = new Promise<void>((resolve) => {
      this.#closed = resolve
    })
    clearInterval(this.#timer)
    this.#startEnds?.reject(new CascadeError('VERIFIER_FAILED', 'pool: closed before it had started'))
    for (const task of this.#queue.splice(0)) task.answer(failed('the pool is closed', false), 0)
    for (const slot of this.#slots) slot.kill()
    this.#checkClosed()
    await closed
  }

  /** Looks at the limits once what has arrived by `since` is read: while this process was busy, answers wait that came in time. */
  #afterReading(since: number): void {
    setImmediate(() => {
      if (this.#closed) return
      const now = performance.now()
      if (now - since > busyMs) this.#afterReading(now)
      else for (const slot of this.#slots) slot.check(this.#startMs)
    })
  }

  #newSlot(): Slot {
    return new Slot(this.#target, this.#limits, {
      idle: () => {
        this.#failedStarts = 0
        this.#startEnds?.resolve()
        this.#dispatch()
      },
      judged: (ms) => {
        this.#meanMs = Number.isFinite(this.#meanMs) ? this.#meanMs + latest * (ms - this.#meanMs) : ms
      },
      stuck: (tasks) => {
        this.#queue.unshift(...tasks)
        this.#dispatch()
      },
      lost: (slot, reason, suspect, others) => this.#lost(slot, reason, suspect, others),
      unstartable: (slot, reason) => this.#unstartable(slot, reason),
    })
  }

  #dispatch(): void {
    const places = this.#size - this.#slots.filter((slot) => slot.busy).length
    const free = this.#slots.filter((slot) => slot.ready && !slot.busy).slice(0, Math.max(0, places))
    for (const slot of free) {
      this.#queue = this.#queue.filter((task) => !task.settled)
      if (this.#queue.length === 0) return
      const share = Math.ceil(this.#queue.length / this.#size)
      const quick = Math.max(1, Math.floor(chunkMs / this.#meanMs))
      slot.assign(this.#queue.splice(0, Math.min(this.#chunk, share, quick)))
    }
  }

  #cancel(task: Task): void {
    for (const slot of this.#slots) slot.cancel(task)
  }

  #lost(slot: Slot, reason: string, suspect: Task | undefined, others: readonly Task[]): void {
    suspect?.answer(
      this.#closed ? failed('the pool is closed', false) : verdictOf(reason),
      this.#limits.wallMs,
    )
    const kept: Task[] = []
    for (const task of others) {
      if (!suspect) task.strandings += 1
      if (this.#closed || task.strandings >= maxStrandings) task.answer(failed(reason, true), 0)
      else kept.push(task)
    }
    this.#queue.unshift(...kept)
    this.#restart(slot, 0)
    if (this.#slots.length === this.#size && !this.#closed) {
      const spare = this.#newSlot()
      this.#slots.push(spare)
      spare.start()
    }
    this.#dispatch()
  }

  #unstartable(slot: Slot, reason: string): void {
    this.#failedStarts += 1
    this.#lastFailure = reason
    if (this.#failedStarts >= maxFailedStarts) {
      this.#startEnds?.reject(new CascadeError('VERIFIER_FAILED', `pool: ${reason}`))
      for (const task of this.#queue.splice(0)) task.answer(failed(reason, true), 0)
    }
    this.#restart(slot, this.#failedStarts >= maxFailedStarts ? restartMs : 0)
  }

  #restart(slot: Slot, delayMs: number): void {
    if (this.#closed) {
      this.#checkClosed()
      return
    }
    this.#restarts += 1
    const start = () => {
      if (!this.#closed) slot.start()
    }
    if (delayMs === 0) start()
    else setTimeout(start, delayMs).unref()
  }

  #checkClosed(): void {
    if (this.pids.length === 0) this.#closed?.()
  }
}

function failed(message: string, retryable: boolean): Verdict {
  return { outcome: 'failed', code: 'VERIFIER_FAILED', message, retryable }
}

function verdictOf(reason: string): Verdict {
  const code = reason.startsWith('took more than') ? 'VERIFIER_TIMEOUT' : 'VERIFIER_FAILED'
  return { outcome: 'failed', code, message: reason, retryable: code === 'VERIFIER_FAILED' }
}
