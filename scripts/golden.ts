import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { plain, samples } from '../test/topics/samples.ts'

/**
 * `node scripts/golden.ts`, after a topic's version was raised: stores how this build writes each topic's sample. A file that
 * exists is never written again: every later build has to read it.
 */
const folder = join(import.meta.dirname, '../test/topics/golden')
for (const [name, { topic, value }] of Object.entries(samples)) {
  const file = join(folder, `${name}.v${topic.version}`)
  if (existsSync(`${file}.bin`)) continue
  writeFileSync(`${file}.bin`, topic.encode(value))
  writeFileSync(`${file}.json`, `${JSON.stringify(plain(value), null, 2)}\n`)
  console.log(`${file}.bin`)
}
