import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Data sets beside the repository, or where `CASCADE_SHARED` says; undefined where this one is absent. */
export function sharedData(path: string): string | undefined {
  const root = process.env.CASCADE_SHARED ?? join(import.meta.dirname, '..', '..', 'shared')
  const full = join(root, 'data', path)
  return existsSync(full) ? full : undefined
}
