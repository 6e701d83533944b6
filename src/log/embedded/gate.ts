import { createHash, randomBytes } from 'node:crypto'
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { CascadeError } from '../../../topics/errors.ts'
import { errorCode, processStart } from './process-identity.ts'

/**
 * Keeps apart what lmdb 3.5 does not. At every opening, a reader's too, it stores the number of the last transaction as it
 * read it a moment before (`mdb_env_open2`): where a write comes in between, the next one builds on an older snapshot, and
 * what was acknowledged is lost. And the last process to close destroys the mutexes that one that opens just then goes
 * on to use (`mdb_env_close0`).
 *
 * Openers and closers take turns by tickets (Lamport's bakery, a file in `gate/` for each); a writer sets the flag that is
 * its file's one byte. Each side says what it is about to do and then looks at the other. A writer that sees an opener
 * steps back, so an opener waits for one write at most.
 */
const folder = 'gate'
const free = Buffer.from('0')
const busy = Buffer.from('1')
/** Who waits longer says so. */
const patienceMs = 10_000

type Side = 'opener' | 'writer'

/**
 * Runs `open` while no process writes, opens or closes.
 *
 * @throws `LOG_BUSY` where a process has been in the middle of that for 10 s
 */
export function whileNoneWrites<R>(dir: string, open: () => R): Promise<R> {
  return inTurn(dir, async (refused) => {
    // Unannounced, it would be seen by none.
    if (refused !== undefined && living(dir, 'writer').length > 0) throw refused
    await none(dir, 'writer', 'ended a write', isBusy)
    return open()
  })
}

/** Runs `close` while no process opens or closes. @throws `LOG_BUSY` */
export function whileNoneOpens<R>(dir: string, close: () => Promise<R>): Promise<R> {
  return inTurn(dir, close)
}

/** A process's side that writes. */
export class WriteGate implements Disposable {
  readonly #dir: string
  readonly #warn: (error: CascadeError) => void
  readonly #place: string
  readonly #file: number
  #holders = 0

  constructor(dir: string, warn: (error: CascadeError) => void) {
    this.#dir = dir
    this.#warn = warn
    this.#place = placeOf(dir, 'writer')
    this.#file = openSync(this.#place, 'wx')
    writeSync(this.#file, free, 0, 1, 0)
  }

  /** Runs `write` while no process opens the database. */
  async hold<R>(write: () => R | Promise<R>): Promise<R> {
    for (let told = false, began = performance.now(); ; await setTimeout(1)) {
      if (this.#holders++ === 0) writeSync(this.#file, busy, 0, 1, 0)
      try {
        const [opener] = living(this.#dir, 'opener')
        if (!opener) return await write()
        if (!told && performance.now() - began > patienceMs) {
          this.#warn(stuck(this.#dir, opener.pid, 'opened or closed the log'))
          told = true
        }
      } finally {
        if (--this.#holders === 0) writeSync(this.#file, free, 0, 1, 0)
      }
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.#file)
    rmSync(this.#place, { force: true })
  }
}

/** @param use is told why this process could not announce itself */
async function inTurn<R>(dir: string, use: (refused: unknown) => Promise<R>): Promise<R> {
  let ticket: string
  try {
    ticket = drawn(dir)
  } catch (error) {
    // Where nothing can be written, LMDB has no lock file either and stores nothing; a full disk is another matter.
    return use(['EROFS', 'EACCES', 'EPERM'].includes(String(errorCode(error))) ? undefined : error)
  }
  try {
    await none(dir, 'opener', 'opened or closed the log', (path) => before(path, ticket))
    return await use(undefined)
  } finally {
    rmSync(ticket, { force: true })
  }
}

/** Who is still drawing counts as before. */
function drawn(dir: string): string {
  const place = placeOf(dir, 'opener')
  closeSync(openSync(place, 'wx'))
  try {
    const last = Math.max(0, ...living(dir, 'opener').map(({ path }) => numberOf(path) ?? 0))
    const ticket = `${place}.${last + 1}`
    closeSync(openSync(ticket, 'wx'))
    return ticket
  } finally {
    rmSync(place, { force: true })
  }
}

function before(path: string, ticket: string): boolean {
  const number = numberOf(path)
  const own = numberOf(ticket)!
  return number === undefined || number < own || (number === own && path < ticket)
}

function numberOf(ticket: string): number | undefined {
  const number = basename(ticket).split('.')[5]
  return number === undefined ? undefined : Number(number)
}

/** Waits until no living process of a side is in the way. */
async function none(dir: string, side: Side, what: string, inWay: (path: string) => boolean): Promise<void> {
  for (const began = performance.now(); ; await setTimeout(1)) {
    const other = living(dir, side).find(({ path }) => inWay(path))
    if (!other) return
    if (performance.now() - began > patienceMs) throw stuck(dir, other.pid, what)
  }
}

/** A name tells whose it is, so it is whole as soon as it is there; the folder's own number tells a copy of it. */
function placeOf(dir: string, side: Side): string {
  const gate = join(dir, folder)
  mkdirSync(gate, { recursive: true })
  const started = digest(processStart(process.pid))
  return join(gate, [side, process.pid, started, inode(gate), randomBytes(6).toString('hex')].join('.'))
}

/** Those of one side whose processes live; what dead ones left is removed where it can be. */
function living(dir: string, side: Side): { pid: number; path: string }[] {
  const gate = join(dir, folder)
  const found: { pid: number; path: string }[] = []
  for (const name of namesIn(gate)) {
    if (!name.startsWith(side)) continue
    const path = join(gate, name)
    const [, pid, started, at] = name.split('.')
    if (at === inode(gate) && digest(processStart(Number(pid))) === started)
      found.push({ pid: Number(pid), path })
    else removeLeftover(path)
  }
  return found
}

/** It stops nobody where it stays, as in a folder that can only be read. */
function removeLeftover(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch (error) {
    if (errorCode(error) === undefined) throw error
  }
}

function namesIn(gate: string): string[] {
  try {
    return readdirSync(gate)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return []
    throw error
  }
}

function isBusy(path: string): boolean {
  try {
    return readFileSync(path).equals(busy)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}

function inode(gate: string): string {
  return String(statSync(gate, { bigint: true }).ino)
}

function digest(started: string | undefined): string {
  return started === undefined ? 'dead' : createHash('sha256').update(started).digest('hex').slice(0, 12)
}

function stuck(dir: string, pid: number, what: string): CascadeError {
  const problem = `expected process ${pid} to have ${what} within ${patienceMs / 1000} s, got none; is it stopped?`
  return new CascadeError('LOG_BUSY', `${dir}: ${problem}`, { retryable: true, context: { pid, dir } })
}
