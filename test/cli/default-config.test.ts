import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadConfig, parseConfig } from '../../src/cli/config.ts'
import { laptop } from '../../src/cli/default-config.ts'

test('the example to copy is the config that runs without one', async () => {
  const example = await loadConfig(join(import.meta.dirname, '../../examples/laptop.config.ts'))
  expect(example).toEqual(parseConfig(laptop, 'the built-in config'))
})
