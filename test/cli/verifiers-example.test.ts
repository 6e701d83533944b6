import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { loadConfig } from '../../src/cli/config.ts'
import { sourceOf } from '../../src/cli/run/prompt-source.ts'
import { bundleFiles, checkEnvironment } from '../../src/cli/run/used-verifiers.ts'
import { configured } from '../verifiers/configured/helpers.ts'
import { scratch } from './run-on-disk.ts'

const root = join(import.meta.dirname, '../..')

test('the example of a config with verifiers loads, and each of them opens', async () => {
  const folder = await scratch()
  const text = await readFile(join(root, 'examples/verifiers.config.ts'), 'utf8')
  // The package by its sources: here it need not be built.
  const source = pathToFileURL(join(root, 'src/cli/config.ts')).href
  const file = join(folder, 'verifiers.config.mts')
  await writeFile(file, text.replace('cascade-rl', source))
  await copyFile(join(root, 'examples/stricter.ts'), join(folder, 'stricter.ts'))
  const config = await loadConfig(file)
  await sourceOf(config, 0)
  checkEnvironment(config, {})
  const { signal } = new AbortController()
  const [stricter] = await bundleFiles(config, signal)
  expect(stricter).toMatchObject({ name: 'stricter', version: '1' })
  const names = Object.keys(config.verifiers!)
  const { codeHash } = stricter!.bundle
  await using verifiers = await configured(names, config.verifiers, {
    env: { REWARD_TOKEN: 'x', JUDGE_KEY: 'y' },
    stored: async () => ({
      codeHash,
      stored: { name: 'stricter', version: '1', options: null, file: 'none' },
    }),
  })
  expect(verifiers.names.sort()).toEqual([...names, 'sum'].sort())
  for (const name of names) {
    expect(verifiers.current(name)).toMatchObject({
      name,
      limited: true,
      codeHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
  }
  await expect(configured(names, config.verifiers)).rejects.toThrow(/no module for stricter/)
})
