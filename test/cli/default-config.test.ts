import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { loadConfig, parseConfig } from '../../src/cli/config.ts'
import { laptop } from '../../src/cli/default-config.ts'

const root = join(import.meta.dirname, '../..')

test('the example to copy is the config that runs without one', async () => {
  const text = await readFile(join(root, 'examples/laptop.config.ts'), 'utf8')
  expect(text).toContain("from 'cascade-rl'")
  // The package by its sources: here it need not be built.
  const source = pathToFileURL(join(root, 'src/cli/config.ts')).href
  const folder = await mkdtemp(join(tmpdir(), 'cascade-example-'))
  try {
    const file = join(folder, 'laptop.config.mts')
    await writeFile(file, text.replace('cascade-rl', source))
    expect(await loadConfig(file)).toEqual(parseConfig(laptop, 'the built-in config'))
  } finally {
    await rm(folder, { recursive: true })
  }
})
