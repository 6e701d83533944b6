import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { faults, type Lock, type Manifest, repaired } from './lock.ts'

/** `npm run check` runs this; `npm run lock:fix` repairs what can be repaired, then checks. */
const root = join(import.meta.dirname, '..')
const lockFile = join(root, 'package-lock.json')
const manifest: Manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
let lock: Lock = JSON.parse(readFileSync(lockFile, 'utf8'))

if (process.argv.includes('--fix')) {
  lock = repaired(manifest, lock)
  writeFileSync(lockFile, `${JSON.stringify(lock, null, 2)}\n`)
}
const found = faults(manifest, lock)
for (const fault of found) console.error(fault)
process.exitCode = found.length === 0 ? 0 : 1
