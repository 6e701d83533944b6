import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { CascadeError, isCascadeError } from '../../topics/index.ts'
import { type EmbeddedLog, openLog, writingProcess } from '../log/index.ts'
import type { Context } from './command.ts'
import { latestRun, type Manifest, manifestFile, readManifest } from './run-folder.ts'

/** Folder of runs that a command looks into where it is given a name, or nothing. */
export const runsFolder = 'runs'

/** Folder of a run's log. */
export function logFolder(run: string): string {
  return join(run, 'log')
}

/**
 * The folder of a run that a person named: as a path, or by its name in `runs/`; the newest one there without a name.
 *
 * @throws `RUN_NOT_FOUND` naming the runs that there are
 */
export async function runFolder(context: Pick<Context, 'cwd'>, run: string | undefined): Promise<string> {
  const parent = join(context.cwd, runsFolder)
  if (run !== undefined) {
    const found = namedRun(context, run)
    if (found) return found
    const names = existsSync(parent)
      ? readdirSync(parent).filter((n) => existsSync(join(parent, n, manifestFile)))
      : []
    const there = names.length > 0 ? `one of ${names.sort().join(', ')}` : 'of which there are none'
    throw new CascadeError(
      'RUN_NOT_FOUND',
      `${run}: expected a run folder with ${manifestFile}, or a name in ${runsFolder}/ (${there}), got neither`,
    )
  }
  return latestRun(parent).catch((error: unknown) => {
    if (!isCascadeError(error, 'RUN_NOT_FOUND')) throw error
    throw new CascadeError(
      'RUN_NOT_FOUND',
      `${parent}: expected a run, got none; start one with cascade run, or name the folder of one`,
      { cause: error },
    )
  })
}

/** The folder that a word names as a run, if it does. */
export function namedRun({ cwd }: Pick<Context, 'cwd'>, word: string): string | undefined {
  return [resolve(cwd, word), join(cwd, runsFolder, word)].find((dir) => existsSync(join(dir, manifestFile)))
}

/** The process that writes a run now, if one does. */
export function runningProcess(dir: string): Promise<number | undefined> {
  return writingProcess(logFolder(dir))
}

export interface OpenRun {
  readonly dir: string
  readonly manifest: Manifest
  readonly log: EmbeddedLog
}

/** Opens a run for reading, also while it goes on, and closes it after `use`. @throws `RUN_NOT_FOUND` */
export async function withRun<T>(
  context: Pick<Context, 'cwd'>,
  run: string | undefined,
  use: (open: OpenRun) => Promise<T>,
): Promise<T> {
  const dir = await runFolder(context, run)
  const manifest = await readManifest(dir)
  const log = await openLog({ dir: logFolder(dir), mode: 'read', clock: { now: () => Date.now() } })
  try {
    return await use({ dir, manifest, log })
  } finally {
    await log.close()
  }
}
