import { open } from 'node:fs/promises'

/** A file's name is durable once its folder is synced. */
export async function syncFolder(path: string): Promise<void> {
  // Windows has no handle on a folder to sync.
  if (process.platform === 'win32') return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
