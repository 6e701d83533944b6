import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { logFolder } from '../../src/cli/open-run.ts'
import { createRun } from '../../src/cli/run-folder.ts'
import { type EmbeddedLog, openLog } from '../../src/log/index.ts'
import type { Append } from '../../streams/ports.ts'
import { sampleManifest, sampleTransactions, write } from './sample-run.ts'

/** An empty folder that is removed after the test. */
export async function scratch(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'cascade-cli-'))
  onTestFinished(() => rm(dir, { recursive: true, force: true }))
  return dir
}

export function openToAppend(dir: string): Promise<EmbeddedLog> {
  return openLog({ dir: logFolder(dir), mode: 'append', clock: { now: () => Date.now() }, mapBytes: 2 ** 26 })
}

/** Writes a run folder through the real log: the whole sample run, or other transactions. */
export async function writeRun(
  dir: string,
  transactions: readonly Append[][] = sampleTransactions(),
): Promise<void> {
  await createRun(dir, sampleManifest)
  const log = await openToAppend(dir)
  try {
    await write(log, transactions)
  } finally {
    await log.close()
  }
}
