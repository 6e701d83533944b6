import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { updates } from '../../topics/index.ts'
import { openToAppend, scratch, writeRun } from './run-on-disk.ts'
import { stages, updateOf } from './sample-run.ts'

const bin = fileURLToPath(new URL('../../bin/cascade.js', import.meta.url))

function start(cwd: string, args: readonly string[]) {
  const child = spawn(process.execPath, [bin, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  let err = ''
  child.stderr.on('data', (chunk) => {
    err += String(chunk)
  })
  const ended = once(child, 'close').then(([code, signal]) => ({ code, signal, err }))
  return { child, ended }
}

test('exit codes of the process', async () => {
  const cwd = await scratch()
  await writeRun(`${cwd}/runs/first`)
  const codes = await Promise.all(
    [['report'], ['control', 'first', 'stop'], ['report', 'second']].map(async (args) => {
      const { child, ended } = start(cwd, args)
      child.stdout.resume()
      return (await ended).code
    }),
  )
  expect(codes).toEqual([0, 1, 2])
})

test('a reader that goes away ends the command quietly', async () => {
  const cwd = await scratch()
  await writeRun(`${cwd}/runs/first`)
  const log = await openToAppend(`${cwd}/runs/first`)
  // More than a pipe holds, so that the command is still writing when its reader goes.
  const value = { ...updateOf(stages[2]!, 13, 40), note: 'x'.repeat(50_000) }
  await log.commit({ append: Array.from({ length: 20 }, () => ({ topic: updates, value })), settle: [] })
  await log.close()
  const { child, ended } = start(cwd, ['topics', 'cat', 'first', 'updates'])
  await once(child.stdout, 'data')
  child.stdout.destroy()
  expect(await ended).toEqual({ code: 0, signal: null, err: '' })
})

test('tail --follow shows what another process appends, and Ctrl-C is its normal end', async () => {
  const cwd = await scratch()
  await writeRun(`${cwd}/runs/first`)
  const log = await openToAppend(`${cwd}/runs/first`)
  const { child, ended } = start(cwd, ['topics', 'tail', 'first', 'updates', '-n', '1', '--follow'])
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const offset = async () => JSON.parse((await lines.next()).value as string).offset
  expect(await offset()).toBe(29)
  for (const step of [13, 14]) {
    await log.commit({ append: [{ topic: updates, value: updateOf(stages[2]!, step, 40) }], settle: [] })
    expect(await offset()).toBe(17 + step)
  }
  child.kill('SIGINT')
  expect(await ended).toEqual({ code: 0, signal: null, err: '' })
  await log.close()
})
