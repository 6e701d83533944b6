import { writeSync } from 'node:fs'
import * as module from 'node:module'
import { Worker } from 'node:worker_threads'
import type { Verdict } from '../../../streams/ports.ts'
import { type FromChild, type Judge, marksFd, type Target, type ToChild } from './protocol.ts'

/** Entry of a pool's child process. */

/**
 * Ends this process when its parent is gone, also while the main thread is caught in a loop. The parent says who it is: on a busy machine
 * it may have ended before this thread first looks.
 */
const watchdog = `
const parent = ${Number(process.argv[2])}
setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL') }, 500)
`
new Worker(watchdog, { eval: true }).unref()

/** Answers wait this long, in milliseconds, so that quick ones share a message. */
const flushMs = 2

const mark = Uint8Array.of(1)
const aborts = new Map<number, AbortController>()
/** Requests that wait here and need no verdict any more. */
const unwanted = new Set<number>()
const queue: (readonly [id: number, request: unknown])[] = []
let judge: Judge | undefined
let outputBytes = 0
let answers: [id: number, verdict: Verdict, ms: number][] = []
let flushed = performance.now()
let busy = false

process.on('message', (message: ToChild) => {
  if (message.kind === 'open') void open(message.target, message.outputBytes)
  else if (message.kind === 'abort') {
    aborts.get(message.id)?.abort()
    if (queue.some(([id]) => id === message.id)) unwanted.add(message.id)
  } else {
    queue.push(...message.requests)
    if (!busy) void work()
  }
})
process.on('disconnect', () => process.exit(0))

async function open(target: Target, bytes: number): Promise<void> {
  outputBytes = bytes
  try {
    const given: Record<string, unknown> = await import(target.module)
    const make = given[target.name]
    if (typeof make !== 'function') {
      throw new Error(`expected it to export a function ${target.name}, got ${typeof make}`)
    }
    judge = (await make(target.options)) as Judge
    if (typeof judge?.judge !== 'function') throw new Error('expected an object with a function judge')
    send({ kind: 'opened' })
    // At once: Node writes it at an end of its own accord, and few children have one.
    module.flushCompileCache?.()
  } catch (error) {
    send({ kind: 'refused', message: reason(error) })
  }
}

async function work(): Promise<void> {
  busy = true
  for (let next = queue.shift(); next; next = queue.shift()) {
    const [id, request] = next
    const abort = new AbortController()
    aborts.set(id, abort)
    writeSync(marksFd, mark)
    const began = performance.now()
    const verdict = unwanted.delete(id) ? failed('no longer wanted') : await judged(request, abort.signal)
    aborts.delete(id)
    answers.push([id, verdict, performance.now() - began])
    if (performance.now() - flushed > flushMs) flush()
  }
  flush()
  busy = false
}

async function judged(request: unknown, signal: AbortSignal): Promise<Verdict> {
  try {
    const given = judge!.judge(request, signal)
    const verdict = given instanceof Promise ? await given : given
    if (verdict.outcome === 'failed' || verdict.detail === undefined) return verdict
    const size = JSON.stringify(verdict.detail)?.length ?? 0
    return size <= outputBytes
      ? verdict
      : failed(`expected a detail of at most ${outputBytes} bytes, got ${size}`)
  } catch (error) {
    return failed(`threw: ${reason(error)}`)
  }
}

function failed(message: string): Verdict {
  return { outcome: 'failed', code: 'VERIFIER_FAILED', message, retryable: false }
}

function flush(): void {
  if (answers.length > 0) send({ kind: 'verdicts', verdicts: answers })
  answers = []
  flushed = performance.now()
}

function send(message: FromChild): void {
  process.send?.(message)
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
