import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { decodeFrame, encodeFrame } from '../../../topics/codec.ts'
import { CascadeError, isCascadeError } from '../../../topics/errors.ts'
import { syncFolder } from '../../sync-folder.ts'
import { isFull } from './environment.ts'
import { errorCode, processStart } from './process-identity.ts'

/**
 * Commands of other processes, a file each: written under `inbox/tmp`, synced, then renamed into `inbox/new`.
 * A sender killed at any point leaves a whole command or none, and needs no lock of the database.
 */
export interface InboxEntry {
  /** Sorts by the time of submission. */
  readonly id: string
  readonly topic: string
  readonly payload: unknown
}

const commandSchema = z.object({ topic: z.string(), payload: z.unknown() })
const version = 1
let sequence = 0

/**
 * Hands a command to the process that appends to the log in `dir`, now or when the next one starts. Resolves
 * with its id once it is durable.
 *
 * @param payload plain data and typed arrays; what the appending process makes of it is its own affair
 * @throws `RUN_NOT_FOUND` where there is no log, `RUN_DIR_UNUSABLE`, `LOG_FULL`
 */
export async function submit(dir: string, topic: string, payload: unknown): Promise<string> {
  const inbox = join(dir, 'inbox')
  const time = String(Date.now()).padStart(15, '0')
  const count = String(sequence++).padStart(8, '0')
  const id = `${time}-${process.pid}-${count}-${randomBytes(4).toString('hex')}`
  const temporary = join(inbox, 'tmp', id)
  try {
    const file = await open(temporary, 'wx')
    try {
      await file.writeFile(encodeFrame(version, { topic, payload }))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, join(inbox, 'new', id))
    await syncFolder(join(inbox, 'new'))
  } catch (error) {
    throw submitError(dir, error)
  }
  return id
}

/** The appending process's side of the inbox. */
export class Inbox {
  readonly #dir: string
  readonly #pollMs: number
  readonly #onWarning: (error: CascadeError) => void

  constructor(dir: string, pollMs: number, onWarning: (error: CascadeError) => void) {
    this.#dir = join(dir, 'inbox')
    this.#pollMs = pollMs
    this.#onWarning = onWarning
  }

  /** Makes the folders and clears what senders that died have left half-written. */
  async prepare(): Promise<void> {
    for (const folder of ['tmp', 'new', 'bad']) await mkdir(join(this.#dir, folder), { recursive: true })
    for (const id of await readdir(join(this.#dir, 'tmp'))) {
      const pid = Number(id.split('-')[1])
      if (!(pid > 0) || processStart(pid) === undefined) await unlink(join(this.#dir, 'tmp', id))
    }
  }

  has(id: string): boolean {
    return /^[\w-]+$/.test(id) && existsSync(join(this.#dir, 'new', id))
  }

  /** Entries in order, each once; ends when the signal aborts. */
  async *entries(signal: AbortSignal, isTaken: (id: string) => boolean): AsyncGenerator<InboxEntry> {
    let seen = new Set<string>()
    while (!signal.aborted) {
      const ids = (await readdir(join(this.#dir, 'new'))).sort()
      seen = new Set(ids.filter((id) => seen.has(id)))
      for (const id of ids) {
        if (seen.has(id) || isTaken(id)) continue
        seen.add(id)
        const entry = await this.#read(id)
        if (signal.aborted) return
        if (entry) yield entry
      }
      await pause(this.#pollMs, signal)
    }
  }

  /** Removes files durably. */
  async remove(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      try {
        await unlink(join(this.#dir, 'new', id))
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error
      }
    }
    await syncFolder(join(this.#dir, 'new'))
  }

  /** A file that is no command is set aside and reported: it must not stop a run. */
  async #read(id: string): Promise<InboxEntry | undefined> {
    const path = join(this.#dir, 'new', id)
    try {
      const bytes = await readFile(path)
      const { topic, payload } = commandSchema.parse(decodeFrame(bytes, path).value)
      return { id, topic, payload }
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined
      if (!isCascadeError(error) && !(error instanceof z.ZodError)) throw error
      await rename(path, join(this.#dir, 'bad', id))
      const message = `${path}: expected a command, got something else; moved to inbox/bad`
      this.#onWarning(new CascadeError('RECORD_CORRUPT', message, { cause: error }))
      return undefined
    }
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}

function submitError(dir: string, error: unknown): CascadeError {
  const code = errorCode(error)
  if (code === 'ENOENT') {
    return new CascadeError('RUN_NOT_FOUND', `${dir}: expected a run with an inbox, got none`, {
      cause: error,
    })
  }
  if (isFull(error)) {
    return new CascadeError('LOG_FULL', `${dir}: no space left for a command`, {
      cause: error,
      retryable: true,
    })
  }
  return new CascadeError('RUN_DIR_UNUSABLE', `${dir}: the command cannot be submitted: ${String(error)}`, {
    cause: error,
  })
}
