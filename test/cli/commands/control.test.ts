import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { invoke, jsonLines } from '../invoke.ts'
import { scratch, writeRun } from '../run-on-disk.ts'

const child = fileURLToPath(new URL('../children/obedient.ts', import.meta.url))

async function runningAt(cwd: string, ...words: string[]): Promise<ChildProcess> {
  await writeRun(`${cwd}/runs/first`)
  return openedAt(cwd, ...words)
}

async function openedAt(cwd: string, ...words: string[]): Promise<ChildProcess> {
  const process_ = spawn(process.execPath, [child, `${cwd}/runs/first`, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void process_.kill('SIGKILL'))
  await once(process_.stdout, 'data')
  return process_
}

test('a command takes effect in the process that writes the run, and is answered with where', async () => {
  const cwd = await scratch()
  const writer = await runningAt(cwd)
  const paused = await invoke(['control', 'first', 'pause', '--json'], { cwd })
  expect(paused).toMatchObject({ code: 0, err: '' })
  const answer = JSON.parse(paused.out)
  expect(answer).toEqual({ run: 'sample', command: 'pause', id: expect.any(String), offset: 41 })
  const [record] = jsonLines(
    (await invoke(['topics', 'cat', 'first', 'control', '--from', '41'], { cwd })).out,
  )
  expect(record?.value).toMatchObject({ type: 'command', command: 'pause', id: answer.id })
  expect(await invoke(['control', 'first', 'resume'], { cwd })).toEqual({
    code: 0,
    out: 'resumed\n',
    err: '',
  })
  const exit = once(writer, 'exit')
  const stopped = await invoke(['control', 'first', 'stop'], { cwd })
  expect(stopped.out).toBe('stopping: continue it with cascade run --resume\n')
  expect(await exit).toEqual([0, null])
  expect(await invoke(['control', 'first', 'pause'], { cwd })).toEqual({
    code: 1,
    out: '',
    err: `error RUN_NOT_RUNNING: ${cwd}/runs/first: expected a run that is going on, got one that no process writes\n`,
  })
  expect(readdirSync(`${cwd}/runs/first/log/inbox/new`)).toEqual([])
})

test('no answer in time is an error, and the command stays', async () => {
  const cwd = await scratch()
  await runningAt(cwd, 'deaf')
  const { code, err } = await invoke(['control', 'first', 'pause', '--timeout', '0.2'], { cwd })
  expect(code).toBe(1)
  expect(err).toMatch(/^error CONTROL_TIMEOUT: .* within 0\.2 s, got no word of it; it stays submitted .*\n$/)
  expect(readdirSync(`${cwd}/runs/first/log/inbox/new`)).toHaveLength(1)
})

test('a run whose writer was killed does not run', async () => {
  const cwd = await scratch()
  const writer = await runningAt(cwd)
  const exit = once(writer, 'exit')
  writer.kill('SIGKILL')
  await exit
  const { code, err } = await invoke(['control', 'first', 'stop', '--json'], { cwd })
  expect([code, JSON.parse(err).error.code]).toEqual([1, 'RUN_NOT_RUNNING'])
})

test('a stop that its process did not live to see does not stop the next one', async () => {
  const cwd = await scratch()
  const first = await runningAt(cwd, 'deaf')
  const { code, err } = await invoke(['control', 'first', 'stop', '--timeout', '0.2'], { cwd })
  expect(code).toBe(1)
  expect(err).toMatch(/^error CONTROL_TIMEOUT: .*if it ends first, the next one goes on\n$/)
  expect(readdirSync(`${cwd}/runs/first/log/inbox/new`)).toHaveLength(1)
  const exit = once(first, 'exit')
  first.kill('SIGKILL')
  await exit
  const second = await openedAt(cwd)
  // Commands are obeyed in order: with this one the stop before it has been dealt with.
  expect(await invoke(['control', 'first', 'pause'], { cwd })).toMatchObject({ code: 0, err: '' })
  const { out } = await invoke(['topics', 'cat', 'first', 'control', '--from', '41'], { cwd })
  expect(jsonLines(out).map((r) => (r.value as { command: string }).command)).toEqual(['pause'])
  expect(readdirSync(`${cwd}/runs/first/log/inbox/new`)).toEqual([])
  const ended = once(second, 'exit')
  expect(await invoke(['control', 'first', 'stop'], { cwd })).toMatchObject({ code: 0 })
  expect(await ended).toEqual([0, null])
})
