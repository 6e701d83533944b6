import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** Every temporary folder of a run of the tests lies in one, which goes with it. */
export default function setup(): () => void {
  const dir = mkdtempSync(join(tmpdir(), 'cascade-test-'))
  for (const name of ['TMPDIR', 'TEMP', 'TMP']) process.env[name] = dir
  return () => rmSync(dir, { recursive: true, force: true, maxRetries: 3 })
}
