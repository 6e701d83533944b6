import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Path of a file of the shared data, beside the repository or where `CASCADE_SHARED` says; undefined where it is absent. */
export function sharedData(path: string): string | undefined {
  const root = process.env.CASCADE_SHARED ?? join(import.meta.dirname, '../../shared')
  const file = join(root, 'data', path)
  return existsSync(file) ? file : undefined
}
