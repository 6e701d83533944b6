import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedLog, type LogOptions, openLog } from '../../../src/log/index.ts'

/** A folder that goes with its scope. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'cascade-log-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

export const now = { now: () => Date.now() }

export function append(dir: string, options: Partial<LogOptions> = {}): Promise<EmbeddedLog> {
  return openLog({ dir, mode: 'append', clock: now, ...options })
}

export function read(dir: string, options: Partial<LogOptions> = {}): Promise<EmbeddedLog> {
  return openLog({ dir, mode: 'read', clock: now, ...options })
}
