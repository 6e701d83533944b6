import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { hashConfig, loadConfig, parseConfig } from '../../src/cli/config.ts'
import { invoke } from './invoke.ts'
import { quickRun } from './run/quick-run.ts'
import { scratch } from './run-on-disk.ts'

const stages = (verifier?: string) => quickRun({ rl: verifier === undefined ? {} : { verifier } }).stages

test('a config without verifiers keeps its hash, and one with them has another', () => {
  const plain = parseConfig({ stages: stages() }, 'c.ts')
  expect(Object.keys(plain)).not.toContain('verifiers')
  expect(JSON.stringify(plain)).not.toContain('verifier"')
  const more = parseConfig({ stages: stages('m'), verifiers: { m: { kind: 'math' } } }, 'c.ts')
  expect(hashConfig(more)).not.toBe(hashConfig(plain))
  expect(more.stages[1]).toMatchObject({ verifier: 'm' })
})

const parts = (...names: string[]) => ({
  kind: 'composite',
  parts: names.map((verifier) => ({ verifier })),
})

describe('is refused by field', () => {
  test.each<[string, unknown, string | undefined, RegExp]>([
    [
      'a verifier that is not there',
      {},
      'strict',
      /stages\[1\]\.verifier: expected one of code, instruction, math, patch, sum, wording, got strict$/,
    ],
    ['an unknown kind', { a: { kind: 'magic' } }, undefined, /verifiers\.a\.kind: .*got "magic"/],
    [
      'an unknown option',
      { a: { kind: 'math', bear: true } },
      undefined,
      /verifiers\.a: Unrecognized key: "bear"/,
    ],
    ['a wrong value', { a: { kind: 'patch', fuzz: 9 } }, undefined, /verifiers\.a\.fuzz: .*, got 9/],
    [
      'the name of a built-in one',
      { sum: { kind: 'math' } },
      undefined,
      /verifiers\.sum: expected another name: sum is that of a built-in verifier/,
    ],
    ['a name with a version', { 'a@1': { kind: 'math' } }, undefined, /verifiers\.a@1: /],
    [
      'an unknown part',
      { a: parts('math', 'b') },
      'a',
      /verifiers\.a\.parts\[1\]\.verifier: expected one of a, code, .*, got b/,
    ],
    [
      'a circle',
      { a: parts('b'), b: parts('math', 'c'), c: parts('a') },
      'a',
      /verifiers\.a\.parts: expected parts that come to an end, got a -> b -> c -> a/,
    ],
    ['one that is part of itself', { a: parts('a') }, 'a', /got a -> a/],
    ['no parts', { a: parts() }, 'a', /verifiers\.a\.parts: /],
    [
      'a length penalty that ends before it begins',
      { a: { ...parts('math'), length: { free: 9, full: 3, most: 1 } } },
      'a',
      /verifiers\.a\.length: expected full above free/,
    ],
    ['no URL', { a: { kind: 'remote', url: 'ftp://x/' } }, undefined, /verifiers\.a\.url: /],
    [
      'a judge without criteria',
      { a: { kind: 'judge', url: 'http://x/', model: 'm' } },
      undefined,
      /verifiers\.a\.criteria/,
    ],
    [
      'headers that are given instead of named',
      { a: { kind: 'remote', url: 'http://x/', headers: { authorization: 'secret' } } },
      undefined,
      /verifiers\.a: Unrecognized key: "headers"/,
    ],
    [
      'a secret where its name is expected',
      { a: { kind: 'judge', url: 'http://x/', model: 'm', criteria: 'c', apiKeyEnv: 'sk-12 34' } },
      undefined,
      /verifiers\.a\.apiKeyEnv: expected the name of an environment variable/,
    ],
  ])('%s', (_, verifiers, verifier, message) => {
    expect(() => parseConfig({ stages: stages(verifier), verifiers }, 'c.ts')).toThrow(
      expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringMatching(message) as string }),
    )
  })
})

test('secrets that were given by mistake are not repeated', () => {
  for (const entry of [
    { kind: 'remote', url: 'http://user:hunter2@host/' },
    { kind: 'remote', url: 'http://host/', headersEnv: { authorization: 'Bearer hunter2' } },
    { kind: 'judge', url: 'http://host/', model: 'm', criteria: 'c', apiKeyEnv: 'sk-hunter2' },
  ]) {
    let message = ''
    try {
      parseConfig({ stages: stages(), verifiers: { a: entry } }, 'c.ts')
    } catch (error) {
      message = String(error)
    }
    expect(message).toMatch(/verifiers\.a\./)
    expect(message).not.toContain('hunter2')
  }
})

async function written(verifiers: object, verifier?: string): Promise<string> {
  const dir = await scratch()
  const config = { ...quickRun(verifier === undefined ? {} : { rl: { verifier } }), verifiers }
  await writeFile(join(dir, 'c.mjs'), `export default ${JSON.stringify(config)}\n`)
  return dir
}

test('files and models are found beside the config, and must be there', async () => {
  const entries = { mine: { kind: 'file', file: './mine.mjs', options: { a: 1 } } }
  const dir = await written(entries)
  await expect(loadConfig(join(dir, 'c.mjs'))).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringMatching(
      /verifiers\.mine\.file: expected a module, got \.\/mine\.mjs, which is not there$/,
    ) as string,
  })
  const other = await written(entries)
  await writeFile(join(other, 'mine.mjs'), 'export const judge = () => 1\n')
  const { verifiers } = await loadConfig(join(other, 'c.mjs'))
  expect(verifiers).toEqual({ mine: { kind: 'file', file: join(other, 'mine.mjs'), options: { a: 1 } } })
})

test.each<[string, object, Record<string, string>, RegExp]>([
  [
    'a token that is not set',
    { server: { kind: 'remote', url: 'http://127.0.0.1:9/', headersEnv: { authorization: 'REWARD_TOKEN' } } },
    {},
    /^error CONFIG_INVALID: verifiers\.server\.headersEnv\.authorization: expected the environment variable REWARD_TOKEN to be set, got none\n$/,
  ],
  [
    'an empty key',
    {
      server: {
        kind: 'judge',
        url: 'http://127.0.0.1:9/',
        model: 'm',
        criteria: 'c',
        apiKeyEnv: 'JUDGE_KEY',
      },
    },
    { JUDGE_KEY: '' },
    /verifiers\.server\.apiKeyEnv: expected the environment variable JUDGE_KEY to be set, got an empty one\n$/,
  ],
  [
    'a module that cannot be read',
    { server: { kind: 'file', file: './broken.mjs' } },
    {},
    /^error CONFIG_INVALID: verifiers\.server\.file: .*broken\.mjs: expected a module: line \d+: /,
  ],
])('%s is an error of the config before anything is written', async (_, verifiers, env, message) => {
  const dir = await written(verifiers, 'server')
  await writeFile(join(dir, 'broken.mjs'), 'export const judge = (\n')
  const { code, err } = await invoke(['run', 'c.mjs', '--dir', 'run'], { cwd: dir, env })
  expect(err).toMatch(message)
  expect(code).toBe(2)
  await expect(mkdir(join(dir, 'run'))).resolves.toBeUndefined()
})

test('a module that gets its own samples wrong is refused before anything is written', async () => {
  const dir = await written({ mine: { kind: 'file', file: './wrong.mjs' } }, 'mine')
  const samples = `{ good: [{ response: 'a', truth: null }], bad: [{ response: 'b', truth: null }] }`
  await writeFile(join(dir, 'wrong.mjs'), `export const samples = ${samples}\nexport const judge = () => 1\n`)
  const { code, err } = await invoke(['run', 'c.mjs', '--dir', 'run'], { cwd: dir })
  expect(err).toMatch(
    /^error VERIFIER_FAILED: verifiers\.mine: .*wrong\.mjs: bad sample 0: expected a score of less than 0\.5, got 1\n$/,
  )
  expect(code).toBe(1)
  await expect(mkdir(join(dir, 'run'))).resolves.toBeUndefined()
})
