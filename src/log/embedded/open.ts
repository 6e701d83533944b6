import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { EmbeddedLog, LogOptions } from './contract.ts'
import { type Environment, mapped, markerFile, openEnvironment } from './environment.ts'
import { Inbox } from './inbox.ts'
import { Log } from './log.ts'
import { claimWriter, type LivingWriter, livingWriter } from './writer-claim.ts'

const defaultMapBytes = 64 * 1024 ** 3

/**
 * Opens the log in a folder.
 *
 * @throws `RUN_LOCKED` where another process appends, `RUN_NOT_FOUND` where there is nothing to read,
 * `RUN_DIR_UNUSABLE`, `LOG_CORRUPT` naming the file, `LOG_FULL`, `LOG_BUSY` where another process is stopped in a write.
 */
export async function openLog(options: LogOptions): Promise<EmbeddedLog> {
  const { dir, mode, mapBytes = defaultMapBytes } = options
  const environment = await openEnvironment({ dir, mode, mapBytes, warn: options.onWarning })
  try {
    return mode === 'read' ? new Log(options, environment, 0, undefined) : await append(options, environment)
  } catch (error) {
    await environment.close()
    throw mapped(error, environment.path)
  }
}

async function append(options: LogOptions, environment: Environment): Promise<EmbeddedLog> {
  await environment.space.reserve(0)
  const epoch = await claimWriter(environment)
  const warn = options.onWarning ?? ((error) => process.emitWarning(error))
  const inbox = new Inbox(environment.path, options.pollMs ?? 25, warn)
  await inbox.prepare()
  const log = new Log(options, environment, epoch, inbox)
  await log.clearTaken()
  return log
}

/** The process that appends to the log in a folder now, if one does. @throws `LOG_CORRUPT` */
export async function writingProcess(dir: string): Promise<number | undefined> {
  return (await livingWriterOf(dir))?.pid
}

/** The same with the epoch of its opening. @throws `LOG_CORRUPT` */
export async function livingWriterOf(dir: string): Promise<LivingWriter | undefined> {
  if (!existsSync(join(dir, markerFile))) return undefined
  const environment = await openEnvironment({ dir, mode: 'read', mapBytes: defaultMapBytes })
  try {
    return livingWriter(environment)
  } finally {
    await environment.close()
  }
}
