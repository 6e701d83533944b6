import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** A file of the shared test data, which is not part of the repository: beside it, or where `CASCADE_SHARED` says. */
export function sharedData(path: string): string | undefined {
  const shared = process.env.CASCADE_SHARED ?? join(import.meta.dirname, '../../shared')
  const file = join(shared, 'data', path)
  return existsSync(file) ? file : undefined
}
