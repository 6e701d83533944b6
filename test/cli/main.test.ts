import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { exitCodeOf } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands/index.ts'
import { CascadeError } from '../../topics/index.ts'
import { invoke } from './invoke.ts'
import { scratch, writeRun } from './run-on-disk.ts'

test('the version is the package version', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(await invoke(['--version'])).toEqual({ code: 0, out: `${version}\n`, err: '' })
})

test('help lists every command, and every command has help with an example', async () => {
  const { code, out } = await invoke(['--help'])
  expect(code).toBe(0)
  for (const { name, summary } of commands) {
    expect(out).toMatch(new RegExp(`^  ${name} +${summary.slice(0, 20)}`, 'm'))
    const help = await invoke([name, '--help'])
    expect(help).toMatchObject({ code: 0, err: '' })
    expect(help.out).toMatch(/\nExamples?:\n {2}\$ cascade /)
  }
})

test('no command at all is wrong usage, and shows the help', async () => {
  const { code, err } = await invoke([])
  expect(code).toBe(2)
  expect(err).toContain('Commands:')
})

test.each([
  [['topcis'], "error USAGE: unknown command 'topcis' (Did you mean topics?)\n"],
  [['topics', 'lss'], "error USAGE: unknown command 'lss' (Did you mean ls?)\n"],
  [['report', '--jsno'], "error USAGE: unknown option '--jsno' (Did you mean --json?)\n"],
  [['report', 'a', 'b'], "error USAGE: too many arguments for 'report'. Expected 1 argument but got 2.\n"],
  [
    ['topics', 'cat', '--limit', 'x'],
    "error USAGE: option '--limit <n>' argument 'x' is invalid. expected a whole number\n",
  ],
])('wrong usage is one line that says what was meant: %j', async (args, err) => {
  expect(await invoke(args)).toEqual({ code: 2, out: '', err })
})

test('with --json an error is one JSON object on stderr', async () => {
  const { code, out, err } = await invoke(['report', 'nowhere', '--json'], { cwd: await scratch() })
  expect([code, out]).toEqual([2, ''])
  expect(JSON.parse(err)).toEqual({
    error: { code: 'RUN_NOT_FOUND', message: expect.stringContaining('nowhere: expected a run folder') },
  })
})

test('a stack only where CASCADE_DEBUG asks for it', async () => {
  const cwd = await scratch()
  const plain = await invoke(['report', 'nowhere'], { cwd })
  expect(plain.err).toMatch(/^error RUN_NOT_FOUND: .*\n$/)
  const debug = await invoke(['report', 'nowhere'], { cwd, env: { CASCADE_DEBUG: '1' } })
  expect(debug.err).toMatch(/^error RUN_NOT_FOUND: .*\n(.*\n)* +at .*open-run\.ts/)
})

test('an interrupted command ends with 130', async () => {
  const cwd = await scratch()
  await writeRun(`${cwd}/runs/a`)
  const signal = AbortSignal.abort(new CascadeError('INTERRUPTED', 'interrupted by SIGINT'))
  const { code, err } = await invoke(['topics', 'cat', 'a', 'control'], { cwd, signal })
  expect([code, err]).toEqual([130, 'error INTERRUPTED: interrupted by SIGINT\n'])
})

test('exit codes', () => {
  const code = (name: ConstructorParameters<typeof CascadeError>[0]) => exitCodeOf(new CascadeError(name, ''))
  expect(
    (['USAGE', 'CONFIG_INVALID', 'RUN_EXISTS', 'RUN_NOT_FOUND', 'TOPIC_UNKNOWN'] as const).map(code),
  ).toEqual([2, 2, 2, 2, 2])
  expect((['LOG_CORRUPT', 'RUN_NOT_RUNNING', 'CONTROL_TIMEOUT', 'NUMERIC'] as const).map(code)).toEqual([
    1, 1, 1, 1,
  ])
  expect(exitCodeOf(new CascadeError('INTERRUPTED', ''))).toBe(130)
  expect(exitCodeOf(new TypeError('a bug'))).toBe(1)
})
