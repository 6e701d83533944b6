import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  realpathSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { type Database, open, type RootDatabase } from 'lmdb'
import { CascadeError, isCascadeError } from '../../../topics/errors.ts'
import { checkDatabaseFile } from './database-file.ts'
import { WriteGate, whileNoneOpens, whileNoneWrites } from './gate.ts'
import { errorCode } from './process-identity.ts'
import { Space } from './space.ts'

export type Table = Database<Buffer, Buffer>

/** An open LMDB environment: the log's table, and the writer's row with its epoch as version. */
export interface Environment {
  readonly path: string
  readonly log: Table
  readonly writer: Table
  readonly root: RootDatabase<Buffer, Buffer>
  readonly space: Space
  /** Of an environment that appends: every write goes through it. */
  readonly gate: WriteGate | undefined
  close(): Promise<void>
}

export interface EnvironmentOptions {
  readonly dir: string
  readonly mode: 'append' | 'read'
  readonly mapBytes: number
  /** Told of what goes wrong without stopping a write. @default process.emitWarning */
  readonly warn?: ((error: CascadeError) => void) | undefined
}

interface Shared {
  readonly environment: Promise<Environment>
  readonly mode: 'append' | 'read'
  users: number
  closed?: Promise<void>
}

/**
 * POSIX drops a process's locks on a file with the first descriptor it closes, so one process must not open a
 * database twice: logs on the same folder share the environment.
 */
const shared = new Map<string, Shared>()

const dataFile = 'data.mdb'
/** Written once the database is complete: without it an empty data file is a new one, with it a damaged one. */
export const markerFile = 'log.json'
const marker = '{"format":"cascade-log","version":1}\n'

/** @throws `RUN_DIR_UNUSABLE`, `RUN_NOT_FOUND`, `RUN_LOCKED`, `LOG_CORRUPT`, `LOG_FULL`, `LOG_BUSY`. */
export async function openEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const { dir, mode } = options
  if (mode === 'append') prepare(dir)
  else if (!existsSync(join(dir, markerFile))) {
    throw new CascadeError('RUN_NOT_FOUND', `${dir}: expected a log, got a folder without ${markerFile}`)
  }
  const path = realpathSync(dir)
  for (let last = shared.get(path); last?.closed; last = shared.get(path)) await last.closed
  const existing = shared.get(path)
  if (existing) {
    if (mode === 'append' && existing.mode === 'read') {
      throw new CascadeError(
        'RUN_LOCKED',
        `${dir}: expected no reader in the process that appends, got one of process ${process.pid}; close it first`,
      )
    }
    existing.users++
    return existing.environment
  }
  const entry: Shared = { environment: openDatabase(path, options, () => release(path)), mode, users: 1 }
  shared.set(path, entry)
  entry.environment.catch(() => shared.delete(path))
  return entry.environment
}

async function release(path: string): Promise<void> {
  const entry = shared.get(path)!
  if (--entry.users > 0) return
  // At once: who opens from now on waits for it.
  entry.closed = entry.environment.then(closeDatabase).finally(() => shared.delete(path))
  await entry.closed
}

async function closeDatabase({ path, root, gate }: Environment): Promise<void> {
  try {
    await whileNoneOpens(path, () => root.close())
  } catch (error) {
    if (!isCascadeError(error, 'LOG_BUSY')) throw error
    // Left open, it would be opened twice. The stopped process may find no mutexes, and fails then.
    await root.close()
  } finally {
    gate?.[Symbol.dispose]()
  }
}

async function openDatabase(
  path: string,
  options: EnvironmentOptions,
  close: () => Promise<void>,
): Promise<Environment> {
  const file = join(path, dataFile)
  const readOnly = options.mode === 'read'
  const complete = existsSync(join(path, markerFile))
  let gate: WriteGate | undefined
  try {
    if (complete) checkDatabaseFile(file, !readOnly)
    const root = await whileNoneWrites(path, () =>
      open<Buffer, Buffer>({
        path,
        noSubdir: false,
        readOnly,
        mapSize: options.mapBytes,
        // With it, data could be seen before it is durable, and what a crash leaves is an older snapshot.
        overlappingSync: false,
        // With it, a failed commit also rejects a promise that lmdb keeps to itself, which ends the process.
        eventTurnBatching: false,
        encoding: 'binary',
        keyEncoding: 'binary',
      }),
    )
    if (!readOnly) gate = new WriteGate(path, options.warn ?? ((error) => process.emitWarning(error)))
    const { log, writer } = gate ? await gate.hold(() => tablesOf(root)) : tablesOf(root)
    if (!complete) {
      writeDurably(join(path, markerFile), marker)
      for (const folder of [path, dirname(path)]) syncFolder(folder)
    }
    return { path, root, log, writer, space: new Space(file, root), gate, close }
  } catch (error) {
    gate?.[Symbol.dispose]()
    throw mapped(error, path)
  }
}

/** Made where they are missing. */
function tablesOf(root: RootDatabase<Buffer, Buffer>): { log: Table; writer: Table } {
  const binary = { encoding: 'binary', keyEncoding: 'binary' } as const
  return {
    log: root.openDB<Buffer, Buffer>('log', binary),
    writer: root.openDB<Buffer, Buffer>('writer', { ...binary, useVersions: true }),
  }
}

/** Makes the folder and proves that it takes a write: a full disk found later, in the lock file's map, is a SIGBUS. */
function prepare(dir: string): void {
  const probe = join(dir, '.probe')
  try {
    mkdirSync(dir, { recursive: true })
    writeDurably(probe, '\0'.repeat(65_536))
    rmSync(probe, { force: true })
  } catch (error) {
    if (isFull(error)) {
      rmSync(probe, { force: true })
      throw mapped(error, dir)
    }
    throw new CascadeError(
      'RUN_DIR_UNUSABLE',
      `${dir}: expected a folder that can be written, got ${describe(error)}`,
      { cause: error },
    )
  }
}

function writeDurably(path: string, content: string): void {
  const fd = openSync(path, 'w')
  try {
    writeSync(fd, content)
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** A file's name is durable once its folder is synced. */
function syncFolder(path: string): void {
  // Windows has no handle on a folder to sync.
  if (process.platform === 'win32') return
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** An error of LMDB or of the file system as the log's own; `dir` is the log's folder. */
export function mapped(error: unknown, dir: string): CascadeError {
  if (error instanceof CascadeError) {
    if (error.code !== 'LOG_CORRUPT' || error.message.includes(dir)) return error
    // Of a row, which does not know what file it lies in.
    return new CascadeError(error.code, `${join(dir, dataFile)}: ${error.message}`, { cause: error })
  }
  if (isFull(error) || (errorCode(error) === shortWrite && !canGrow(join(dir, dataFile)))) {
    return new CascadeError('LOG_FULL', `${dir}: no space left for the log; nothing of this write was kept`, {
      cause: error,
      retryable: true,
    })
  }
  if (['EACCES', 'EPERM', 'EROFS', 13, 1, 30].includes(errorCode(error) as string | number)) {
    const problem = `expected a log that can be opened, got ${describe(error)}`
    return new CascadeError('RUN_DIR_UNUSABLE', `${dir}: ${problem}`, { cause: error })
  }
  const problem = `expected a log that can be used, got ${describe(error)}`
  return new CascadeError('LOG_CORRUPT', `${join(dir, dataFile)}: ${problem}`, { cause: error })
}

const mapFull = -30792
/** What LMDB reports as plain numbers of the operating system: ENOSPC, EFBIG (a limit on file sizes), EDQUOT. */
const fullNumbers = [28, 27, process.platform === 'darwin' ? 69 : 122, mapFull]
const fullNames = ['ENOSPC', 'EFBIG', 'EDQUOT']

export function isFull(error: unknown): boolean {
  const code = errorCode(error)
  return typeof code === 'number' ? fullNumbers.includes(code) : fullNames.includes(String(code))
}

/** EIO: LMDB's word for a write that was cut short, as the last one that fits a disk is, besides a broken disk's. */
const shortWrite = 5

/** Whether the database can take one more byte; what lies behind its last page means nothing to LMDB. */
function canGrow(file: string): boolean {
  try {
    appendFileSync(file, '\0')
    return true
  } catch (error) {
    if (isFull(error)) return false
    throw error
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
