import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from './sync-folder.ts'

export interface FolderFile {
  name: string
  bytes: Uint8Array
}

/** How far a folder has come, in this order. */
export type FolderStage = 'written' | 'synced' | 'renamed'

/**
 * Writes a folder such that under its name it is whole or absent: under a temporary name first, every file and the folder synced,
 * then renamed and the parent synced. What had that name before is gone. Nothing is left behind where it throws.
 */
export async function writeFolder(
  target: string,
  temporary: string,
  files: readonly FolderFile[],
  reached: (stage: FolderStage) => void = () => undefined,
): Promise<void> {
  try {
    await rm(temporary, { recursive: true, force: true })
    await mkdir(temporary)
    for (const { name, bytes } of files) await writeSynced(join(temporary, name), bytes)
    reached('written')
    await syncFolder(temporary)
    reached('synced')
    await rm(target, { recursive: true, force: true })
    await rename(temporary, target)
    reached('renamed')
    await syncFolder(dirname(target))
  } catch (error) {
    await rm(temporary, { recursive: true, force: true })
    throw error
  }
}

async function writeSynced(path: string, bytes: Uint8Array): Promise<void> {
  const handle = await open(path, 'w')
  try {
    await handle.writeFile(bytes)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
