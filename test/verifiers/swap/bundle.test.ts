import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundleVerifier } from '../../../src/verifiers/swap/bundle.ts'
import { folderOf, strict } from './modules.ts'

test('the same code has the same hash in any folder, and holds all that it imports', async () => {
  const [a, b] = [folderOf(strict), folderOf(strict)]
  const first = await bundleVerifier('strict.ts', a)
  expect(await bundleVerifier(join(b, 'strict.ts'), a)).toEqual(first)
  expect(first.code).toContain('endsWith')
  expect(first.code).not.toMatch(/helper\.ts/)
})

test('another helper file, or another option, is another version', async () => {
  const dir = folderOf(strict)
  const first = await bundleVerifier('strict.ts', dir)
  expect((await bundleVerifier('strict.ts', dir, { scale: 2 })).codeHash).not.toBe(first.codeHash)
  writeFileSync(
    join(dir, 'helper.ts'),
    'export const ends = (text: string, end: string) => text.includes(end)\n',
  )
  expect((await bundleVerifier('strict.ts', dir)).codeHash).not.toBe(first.codeHash)
})

test('a module of the repository may be named', async () => {
  const { code } = await bundleVerifier('rxjs', process.cwd())
  expect(code).toContain('Observable')
})

test.each([
  ['a file that is not there', {}, 'gone.ts', /gone\.ts: expected a module: .*Could not resolve/],
  [
    'text that is no program',
    { 'x.ts': 'export const =' },
    'x.ts',
    /x\.ts: expected a module: line 1: Expected identifier/,
  ],
  [
    'an import that is not there',
    { 'x.ts': "import './y.ts'" },
    'x.ts',
    /line 1: Could not resolve ".\/y.ts"/,
  ],
  [
    'a module that is not installed',
    {},
    'no-such-module',
    /no-such-module: expected a module: .*Could not resolve/,
  ],
])('%s is named', async (_, files, entry, message) => {
  await expect(bundleVerifier(entry, folderOf(files))).rejects.toThrow(
    expect.objectContaining({ code: 'VERIFIER_FAILED', message: expect.stringMatching(message) }),
  )
})
