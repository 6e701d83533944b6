import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { bundleVerifier } from '../../../src/verifiers/swap/bundle.ts'
import { preflight } from '../../../src/verifiers/swap/preflight.ts'
import type { Rollout } from '../../../topics/index.ts'
import { rollout } from '../../streams/helpers.ts'
import { folderOf, strict } from './modules.ts'

async function tried(
  files: Readonly<Record<string, string>>,
  entry: string,
  options?: unknown,
  rollouts: readonly Rollout[] = [
    rollout({ responseText: '=5', groundTruth: '5' }),
    rollout({ responseText: 'x', groundTruth: null }),
  ],
) {
  const dir = folderOf(files)
  const bundle = await bundleVerifier(entry, dir, options)
  const file = join(dir, 'bundle.mjs')
  writeFileSync(file, bundle.code)
  return preflight({
    entry,
    module: { file, options: bundle.options },
    limits: { wallMs: 500, memoryMb: 150 },
    rollouts,
    signal: new AbortController().signal,
  })
}

test('says what the module says of itself', async () => {
  expect(await tried(strict, 'strict.ts')).toMatchObject({
    version: '2-strict',
    samples: { bad: { length: 2 } },
  })
  expect(await tried({ 'a.js': 'export const judge = () => 0' }, 'a.js')).toEqual({
    version: null,
    samples: null,
  })
})

describe('refuses', () => {
  const judge = 'export const judge = () => 1\n'
  test.each<[string, string, RegExp]>([
    ['what throws at load', 'throw new Error("no model here")', /could not start: no model here/],
    ['what ends its process at load', 'process.exit(4)', /code 4/],
    ['what has no judge', 'export const version = "1"', /expected it to export judge/],
    [
      'a version that is no text',
      `${judge}export const version = 3`,
      /version: expected a string, got number/,
    ],
    [
      'a good sample that fails',
      'export const judge = () => 0\nexport const samples = { good: [{ response: "a", truth: 1 }], bad: [] }',
      /good sample 0: expected a score of at least 0.5, got 0/,
    ],
    [
      'a bad sample that passes',
      `${judge}export const samples = { good: [], bad: [{ response: "a", truth: 1 }] }`,
      /bad sample 0: expected a score of less than 0.5, got 1/,
    ],
    [
      'recorded rollouts that end in errors',
      'export const judge = (r, t) => t.length',
      /1 of 2 recorded rollouts end in an error: threw: .*null/,
    ],
    ['what hangs', 'export const judge = () => { while (true); }', /1 of 1 .*took more than 500 ms/],
    ['a score that is none', 'export const judge = () => NaN', /expected a finite score, got NaN/],
    [
      'an answer that is none',
      'export const judge = () => "good"',
      /expected a number or a verdict, got "good"/,
    ],
  ])('%s', async (_, text, message) => {
    await expect(tried({ 'c.js': text }, 'c.js')).rejects.toThrow(
      expect.objectContaining({ code: 'VERIFIER_FAILED', message: expect.stringMatching(message) }),
    )
  })
})

test('is done as soon as enough rollouts have failed or hung', async () => {
  const many = Array.from({ length: 32 }, () => rollout({ responseText: '=5', groundTruth: '5' }))
  for (const [judge, message] of [
    ['() => { while (true); }', /: 2 of 2 recorded rollouts end in an error: took more than 500 ms$/],
    ['() => { throw new Error("away") }', /: 7 of 7 recorded rollouts end in an error: threw: away$/],
  ] as const) {
    const ended = tried({ 'a.js': `export const judge = ${judge}` }, 'a.js', undefined, many)
    await expect(ended).rejects.toThrow(message)
  }
})

test('a verdict may leave out its detail', async () => {
  const answers = ["{ outcome: 'score', score: 1 }", "{ outcome: 'unparsable', score: 0 }", '0.5']
  for (const answer of answers) {
    expect(await tried({ 'a.js': `export const judge = () => (${answer})` }, 'a.js')).toMatchObject({
      samples: null,
    })
  }
})

test('options reach the function that makes the judge', async () => {
  await expect(tried(strict, 'strict.ts', { scale: 0.1 })).rejects.toThrow(
    'expected a score of at least 0.5, got 0.1',
  )
})
