import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const bench = join(import.meta.dirname, '../../bench')

test('the list names every bench with what it measures', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(bench, 'index.ts')])
  const files = readdirSync(bench).filter((f) => f.endsWith('.ts') && !['index.ts', 'figure.ts'].includes(f))
  const listed = stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/ {2,}/))
  expect(listed.map(([name]) => `${name}.ts`).toSorted()).toEqual(files.toSorted())
  for (const [, summary] of listed) expect(summary).toMatch(/\w/)
})
