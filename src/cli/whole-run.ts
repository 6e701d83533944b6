import { readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CascadeError } from '../../topics/index.ts'
import { syncFolder } from '../sync-folder.ts'
import { reasonOf } from './output/reason.ts'
import { refuseExisting } from './run-folder.ts'

/**
 * Writes a run that is whole or absent under its name: into a hidden folder beside it, which is renamed at the end, or removed.
 *
 * @throws `RUN_EXISTS`, `RUN_DIR_UNUSABLE`, what `write` throws
 */
export async function wholeRun<T>(dir: string, write: (partial: string) => Promise<T>): Promise<T> {
  await refuseExisting(dir)
  const partial = join(dirname(dir), `.${basename(dir)}.${process.pid}.partial`)
  await removeAbandoned(dir)
  await rm(partial, { recursive: true, force: true })
  try {
    const result = await write(partial)
    // Not before: a run may have been put there meanwhile.
    await refuseExisting(dir)
    await rename(partial, dir).catch((cause: unknown) => {
      throw new CascadeError(
        'RUN_DIR_UNUSABLE',
        `${dir}: expected a folder that is empty or not there, got ${reasonOf(cause)}`,
        { cause },
      )
    })
    await syncFolder(dirname(dir))
    return result
  } finally {
    await rm(partial, { recursive: true, force: true })
  }
}

/** What processes that were killed have left half-written under this name. */
async function removeAbandoned(dir: string): Promise<void> {
  const parent = dirname(dir)
  const names = await readdir(parent).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  for (const name of names) {
    if (!name.startsWith(`.${basename(dir)}.`)) continue
    const pid = /\.(\d+)\.partial$/.exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid)))
      await rm(join(parent, name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
