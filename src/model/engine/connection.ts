import type { Worker } from 'node:worker_threads'
import { CascadeError } from '../../../topics/errors.ts'
import type { GeneratedRow } from '../decode/requests.ts'
import type { NumericProfile } from './profile.ts'
import { type CallOf, type FromWorker, fromWire, type Operations, type ToWorker } from './protocol.ts'

export interface CallOptions {
  transfer?: ArrayBuffer[]
  onRow?: (index: number, row: GeneratedRow) => void
  signal?: AbortSignal
}

interface Pending {
  resolve(value: unknown): void
  reject(error: unknown): void
  onRow: CallOptions['onRow']
}

/** Operations of a worker by name. */
type OperationsOf<O> = { [K in keyof O]: (...args: never[]) => unknown }

/**
 * Calls over the worker's port. Every call settles: by its answer, by its signal, or by the end of the worker. The
 * process is kept alive by calls that wait, not by an idle worker.
 */
export class Connection<O extends OperationsOf<O> = Operations> implements AsyncDisposable {
  readonly ready: Promise<NumericProfile>
  readonly #worker: Worker
  readonly #pending = new Map<number, Pending>()
  readonly #exited: Promise<void>
  #ended: CascadeError | undefined
  #serial = 0

  constructor(worker: Worker) {
    this.#worker = worker
    // The start itself is call 0.
    this.ready = new Promise((resolve, reject) => {
      this.#pending.set(0, { resolve: resolve as Pending['resolve'], reject, onRow: undefined })
    })
    worker.on('message', (message: FromWorker) => this.#receive(message))
    worker.on('messageerror', (cause) => this.#end('a message could not be read', cause))
    worker.on('error', (cause) => this.#end(cause instanceof Error ? cause.message : String(cause), cause))
    this.#exited = new Promise((resolve) => {
      worker.on('exit', (code) => {
        this.#end(`its thread ended with code ${code}`)
        resolve()
      })
    })
  }

  call<K extends keyof O>(
    op: K,
    args: Parameters<O[K]>,
    { transfer = [], onRow, signal }: CallOptions = {},
  ): Promise<ReturnType<O[K]>> {
    return new Promise((resolve, reject) => {
      if (this.#ended) throw this.#ended
      const id = ++this.#serial
      // Throws where something cannot be cloned; nothing waits for an answer then.
      this.#post({ id, op, args } as unknown as CallOf<O>, transfer)
      const abort = () => this.#abort(id, signal!.reason)
      const settle = (what: () => void) => {
        signal?.removeEventListener('abort', abort)
        what()
      }
      this.#pending.set(id, {
        resolve: (value) => settle(() => resolve(value as ReturnType<O[K]>)),
        reject: (error) => settle(() => reject(error)),
        onRow,
      })
      this.#worker.ref()
      signal?.addEventListener('abort', abort, { once: true })
    })
  }

  /** Ends the worker after the run that it is in; calls that wait are rejected. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#ended) {
      this.#end('it was closed')
      this.#worker.ref()
      this.#post({ close: true })
    }
    await this.#exited
  }

  #post(message: ToWorker | CallOf<O>, transfer: ArrayBuffer[] = []): void {
    this.#worker.postMessage(message, transfer)
  }

  #receive(message: FromWorker): void {
    if ('ready' in message) this.#take(0)?.resolve(message.ready)
    else if ('value' in message) this.#take(message.id)?.resolve(message.value)
    else if ('error' in message) this.#take(message.id)?.reject(fromWire(message.error))
    else this.#row(message.id, message.index, message.row)
  }

  #row(id: number, index: number, row: GeneratedRow): void {
    try {
      // An aborted call is no longer waiting, though rows of it may still arrive.
      this.#pending.get(id)?.onRow?.(index, row)
    } catch (error) {
      this.#abort(id, error)
    }
  }

  #abort(id: number, reason: unknown): void {
    this.#take(id)?.reject(reason)
    this.#post({ abort: id })
  }

  #take(id: number): Pending | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    // While it closes the worker stays referenced: an answer that comes late must not let the process end first.
    if (this.#pending.size === 0 && !this.#ended) this.#worker.unref()
    return pending
  }

  #end(reason: string, cause?: unknown): void {
    if (this.#ended) return
    this.#ended = new CascadeError('ENGINE_FAILED', `engine: ${reason}`, { cause })
    for (const id of this.#pending.keys()) this.#take(id)?.reject(this.#ended)
    this.#worker.unref()
  }
}
