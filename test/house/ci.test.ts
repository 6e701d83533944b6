import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseSteps, summary } from '../../scripts/summary.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** The commands of `.ci/run`, in order. */
const steps = Array.from(read('.ci/run').matchAll(/^step (.+)$/gm), (match) => match[1]!)

test('the first commands of the README are those that run on a fresh machine', () => {
  const block = /```sh\n([\s\S]*?)```/.exec(read('README.md'))?.[1]?.trim().split('\n')
  const commands = block?.map((line) => line.replace(/\s*#.*/, '').split(' && '))
  expect(commands).toEqual([
    ['npm ci', 'npm start'],
    ['npm ci', 'npm test'],
  ])
  expect(steps).toEqual(expect.arrayContaining(commands?.flat() ?? []))
  expect(steps[0]).toBe('npm ci')
})

test('every script that it calls exists, the checks among them', () => {
  const { scripts }: { scripts: Record<string, string> } = JSON.parse(read('package.json'))
  const called = steps.slice(1).map((step) => step.replace(/^npm (run )?/, ''))
  expect(called.filter((name) => !(name in scripts))).toEqual([])
  expect(called).toEqual(expect.arrayContaining(['check', 'build', 'test', 'test:package', 'test:kill']))
})

const ok = '0\t40\tnpm ci\n'

test('sums the tests of all steps', () => {
  const [first, second, third] = parseSteps(`${ok}0\t300\tnpm test\n0\t60\tnpm run test:package\n`)
  const all = [
    first!,
    { ...second!, tests: { passed: 7, failed: 0 } },
    { ...third!, tests: { passed: 2, failed: 0 } },
  ]
  expect(summary(all).lines).toEqual([
    'ok     npm ci (40 s)',
    'ok     npm test (300 s, 7 passed, 0 failed)',
    'ok     npm run test:package (60 s, 2 passed, 0 failed)',
    '9 passed, 0 failed',
  ])
})

test.each([
  ['a step without tests', undefined, '0 passed, 1 failed'],
  ['failed tests', { passed: 3, failed: 2 }, '3 passed, 2 failed'],
  ['a suite that does not load', { passed: 3, failed: 0 }, '3 passed, 1 failed'],
])('%s fails the whole', (_, tests, last) => {
  const [first, second] = parseSteps(`${ok}1\t5\tnpm run check\n`)
  const { lines, failed } = summary([first!, { ...second!, ...(tests ? { tests } : {}) }])
  expect(lines.at(-1)).toBe(last)
  expect(failed).toBeGreaterThan(0)
})
