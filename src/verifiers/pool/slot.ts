import { Child } from './child-process.ts'
import { type Limits, type Usage, usageOf } from './limits.ts'
import type { Target } from './protocol.ts'
import type { Task } from './task.ts'

export interface SlotEvents {
  /** It has nothing to do and can judge. */
  idle(slot: Slot): void
  /** A request was answered, after so many milliseconds in the judge. */
  judged(ms: number): void
  /** What waits behind a request that takes long, to be judged elsewhere as well: the first answer counts. */
  stuck(tasks: readonly Task[]): void
  /** A child ended. `suspect` is what it was busy with, `others` what it had yet to begin or to answer. */
  lost(slot: Slot, reason: string, suspect: Task | undefined, others: readonly Task[]): void
  /** A child ended before it was ready. */
  unstartable(slot: Slot, reason: string): void
}

/** A child that does not stop for an abort within this many milliseconds is ended. */
const abortGraceMs = 200

/**
 * What a child has not begun with has so many milliseconds more: on a busy machine it waits for a processor, and whoever ended such
 * children would start others, which wait longer.
 */
const beginGraceMs = 800

/** Nothing waits longer than about this many milliseconds behind another request. */
const stuckMs = 50

/** One place in the pool: a child process, and after its end the next. */
export class Slot {
  readonly #target: Target
  readonly #limits: Limits
  readonly #events: SlotEvents
  #child: Child | undefined
  #ready = false
  /** Its child has been told to end: what it still answers counts, but it gets nothing more. */
  #ending = false
  #startedAt = 0
  /** In the order in which the child judges; answered ones leave at the front. */
  #tasks: Task[] = []
  /** Those of `#tasks` that are judged elsewhere as well. */
  readonly #shared = new Set<Task>()
  /** Those that the child has been told to leave out. */
  readonly #unwanted = new Set<Task>()
  /** How many of `#tasks` the child has begun with; below 0 while marks, which travel apart, are behind the answers. */
  #begun = 0
  #since = 0
  #usage: Usage | undefined

  constructor(target: Target, limits: Limits, events: SlotEvents) {
    this.#target = target
    this.#limits = limits
    this.#events = events
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get busy(): boolean {
    return this.#tasks.length > 0
  }

  get ready(): boolean {
    return this.#ready && !this.#ending
  }

  start(): void {
    this.#ready = false
    this.#ending = false
    this.#begun = 0
    this.#startedAt = performance.now()
    const { memoryMb, outputBytes } = this.#limits
    const child: Child = new Child(this.#target, memoryMb, outputBytes, {
      opened: () => {
        this.#ready = true
        this.#events.idle(this)
      },
      began: (count) => {
        if (this.#child !== child) return
        this.#begun += count
        this.#since = performance.now()
        this.#usage = undefined
      },
      verdicts: (verdicts) => {
        if (this.#child !== child) return
        for (const [id, verdict, ms] of verdicts) {
          const task = this.#tasks.shift()
          if (task?.id !== id) throw new Error(`verdict of request ${id}, expected ${task?.id}`)
          this.#begun -= 1
          this.#shared.delete(task)
          if (!this.#unwanted.delete(task)) this.#events.judged(ms)
          task.answer(verdict, ms)
        }
        if (this.#tasks.length === 0 && !this.#ending) this.#events.idle(this)
      },
      ended: (reason) => this.#ended(reason),
    })
    this.#child = child
  }

  assign(tasks: readonly Task[]): void {
    this.#tasks = [...tasks]
    this.#since = performance.now()
    this.#usage = undefined
    this.#child!.send({ kind: 'judge', requests: tasks.map((t) => [t.id, t.request] as const) })
  }

  /** Holds the child to its limits; called every few tens of milliseconds. */
  check(startMs: number): void {
    const now = performance.now()
    if (!this.#ready) {
      if (this.#child && now - this.#startedAt > startMs) this.#end(`could not start within ${startMs} ms`)
      return
    }
    if (this.#tasks.length === 0 || this.#ending) return
    const { wallMs, cpuMs = wallMs, memoryMb } = this.#limits
    const took = now - this.#since
    if (took > stuckMs) this.#share()
    for (const task of this.#shared) {
      if (!task.settled) continue
      // Judged elsewhere in the meantime: it need not be judged here.
      this.#shared.delete(task)
      this.#unwanted.add(task)
      this.#child!.send({ kind: 'abort', id: task.id })
    }
    const current = this.#tasks[Math.max(0, this.#begun - 1)]!
    if (current.settled) {
      if (took > abortGraceMs) this.#end('cancelled')
      return
    }
    const begun = this.#begun > 0
    if (took > (begun ? wallMs : wallMs + beginGraceMs)) {
      this.#end(begun ? `took more than ${wallMs} ms` : `began with nothing for ${Math.round(took)} ms`)
      return
    }
    const usage = usageOf(this.#child!.pid)
    if (!usage) return
    this.#usage ??= usage
    if (usage.cpuMs - this.#usage.cpuMs > cpuMs) this.#end(`took more than ${cpuMs} ms of processor time`)
    else if (usage.rssMb > memoryMb) this.#end(`out of memory at ${memoryMb} MB`)
  }

  #end(reason: string): void {
    this.#ending = true
    this.#child!.kill(reason)
  }

  #share(): void {
    const waiting = this.#tasks
      .slice(Math.max(1, this.#begun))
      .filter((t) => !t.settled && !this.#shared.has(t))
    if (waiting.length === 0) return
    for (const task of waiting) this.#shared.add(task)
    this.#events.stuck(waiting)
  }

  /** Tells the child that a request is no longer wanted; {@link check} ends it where it does not care. */
  cancel(task: Task): void {
    if (!this.#tasks.includes(task)) return
    this.#since = performance.now()
    this.#child!.send({ kind: 'abort', id: task.id })
  }

  kill(): void {
    if (this.#child) this.#end('closed')
  }

  #ended(reason: string): void {
    const wasReady = this.#ready
    const tasks = this.#tasks
    const at = this.#begun - 1
    this.#child = undefined
    this.#ready = false
    this.#tasks = []
    const elsewhere = new Set([...this.#shared, ...this.#unwanted])
    this.#shared.clear()
    this.#unwanted.clear()
    if (!wasReady) {
      this.#events.unstartable(this, reason)
      return
    }
    const suspect = tasks[at]
    this.#events.lost(
      this,
      reason,
      suspect,
      tasks.filter((t) => t !== suspect && !elsewhere.has(t)),
    )
  }
}
