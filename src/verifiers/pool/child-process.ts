import { type ChildProcess, fork } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { type FromChild, marksFd, type Target, type ToChild } from './protocol.ts'

export interface ChildEvents {
  opened(): void
  verdicts(verdicts: Extract<FromChild, { kind: 'verdicts' }>['verdicts']): void
  /** Requests that it has begun with since the last call. */
  began(count: number): void
  /** Once, whatever ended it. */
  ended(reason: string): void
}

/** Bytes of a child's error output that are kept for the message of its end. */
const keptError = 2_000

/** What a child sees of the environment: enough for the runtime to start, no secret. */
const passedOn = ['PATH', 'HOME', 'LANG', 'TZ', 'TMPDIR', 'SystemRoot'] as const

/** Where a child finds its code without types and compiled, which is most of the work of a start: children are killed too often to start slowly. */
const compiled = () => process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'node-compile-cache')

/** A process that judges. It leads a process group, so that what it has started ends with it. */
export class Child {
  readonly #process: ChildProcess
  #error = ''
  #end: string | undefined

  constructor(target: Target, memoryMb: number, outputBytes: number, events: ChildEvents) {
    // Type stripping leaves the extension as it is, the build does not.
    const file = new URL(import.meta.url.endsWith('.ts') ? './child.ts' : './child.js', import.meta.url)
    this.#process = fork(file, [String(process.pid)], {
      serialization: 'advanced',
      detached: process.platform !== 'win32',
      execArgv: [`--max-old-space-size=${memoryMb}`, '--no-warnings'],
      env: {
        ...Object.fromEntries(
          passedOn.flatMap((k) => (process.env[k] === undefined ? [] : [[k, process.env[k]]])),
        ),
        NODE_COMPILE_CACHE: compiled(),
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', 'pipe'],
    })
    this.#process.stderr!.on('data', (text: Buffer) => {
      this.#error = (this.#error + String(text)).slice(-keptError)
    })
    const marks = this.#process.stdio[marksFd] as Readable
    marks.on('data', (bytes: Buffer) => events.began(bytes.length))
    this.#process.on('message', (message: FromChild) => {
      if (message.kind === 'verdicts') events.verdicts(message.verdicts)
      else if (message.kind === 'opened') events.opened()
      else this.kill(`could not start: ${message.message}`)
    })
    this.#process.on('error', (error) => this.kill(error.message))
    this.#process.on('close', (code, signal) => {
      events.ended(this.#end ?? endOf(code, signal, this.#error, memoryMb))
    })
    this.send({ kind: 'open', target, outputBytes })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  send(message: ToChild): void {
    // A message that cannot be sent any more belongs to a child whose end is about to be reported.
    if (this.#process.connected) this.#process.send(message, () => undefined)
  }

  /** Ends it and all that it has started, at once; `reason` is what `ended` reports. */
  kill(reason: string): void {
    this.#end ??= reason
    const { pid } = this.#process
    if (pid === undefined) return
    try {
      process.kill(process.platform === 'win32' ? pid : -pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
}

function endOf(code: number | null, signal: string | null, error: string, memoryMb: number): string {
  if (/heap out of memory|Allocation failed/.test(error)) return `out of memory at ${memoryMb} MB`
  const last = error
    .trim()
    .split('\n')
    .filter((line) => line.trim() !== '')
    .at(-1)
  return `its process ended with ${signal ?? `code ${code}`}${last ? `: ${last.slice(0, 300)}` : ''}`
}
