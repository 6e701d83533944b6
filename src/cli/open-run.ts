import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
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
 * @throws `RUN_NOT_FOUND` where there is no run to take; whether the named one is a run is for {@link readManifest} to say.
 */
export async function runFolder(context: Pick<Context, 'cwd'>, run: string | undefined): Promise<string> {
  const parent = join(context.cwd, runsFolder)
  if (run === undefined) return latestRun(parent)
  const path = resolve(context.cwd, run)
  return existsSync(join(path, manifestFile)) || !existsSync(join(parent, run, manifestFile))
    ? path
    : join(parent, run)
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
