import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openLog } from '../../../src/log/index.ts'
import { cascade, type Running, start, workspace, writeConfig } from './harness.ts'
import { quickRun } from './quick-run.ts'

let space: Awaited<ReturnType<typeof workspace>>

beforeAll(async () => {
  space = await workspace()
})

afterAll(() => space[Symbol.asyncDispose]())

async function prepared(name: string, config: ReturnType<typeof quickRun>) {
  const folder = join(space.dir, name)
  await mkdir(folder)
  return { config: await writeConfig(folder, config), dir: join(folder, 'run') }
}

/** Records of a topic so far, while another process may write. */
async function counted(run: string, topic: string): Promise<number> {
  await using log = await openLog({ dir: join(run, 'log'), mode: 'read', clock: { now: () => Date.now() } })
  return log.offset(topic, 'latest')
}

/**
 * Waits until the counter shows more than `before`, so that what follows finds the run at work.
 *
 * @throws how the run ended and what it said, where it ends first
 */
async function past(running: Running, run: string, topic: string, before: number): Promise<number> {
  for (;;) {
    const ended = await Promise.race([running.ended, setTimeout(20)])
    const now = existsSync(join(run, 'log', 'log.json')) ? await counted(run, topic) : 0
    if (now > before) return now
    if (ended) {
      const what = JSON.stringify(ended, null, 2)
      throw new Error(`expected more than ${before} records of ${topic}, got ${now} and the end: ${what}`)
    }
  }
}

describe('interrupted', () => {
  test.each([
    // Each long enough that the signal comes in its middle.
    ['SIGINT', 'the first evaluation', quickRun({ prompts: 800 }), 'seed', 'checkpoints', 'before training'],
    [
      'SIGTERM',
      'supervised steps',
      quickRun({ sft: { steps: 120, checkpointEvery: 50 } }),
      'before training',
      'updates',
      '2/2',
    ],
    [
      'SIGINT',
      'generation',
      quickRun({ rl: { steps: 1, prompts: 300, groupSize: 4 } }),
      '[2/2 rl] begins',
      'prompts.math',
      'done',
    ],
  ] as const)(
    'by %s during %s, it exits with 130 and can be resumed',
    async (...[signal, what, input, text, topic, later]) => {
      const { config, dir } = await prepared(what.replaceAll(' ', '-'), input)
      const running = start(['run', config, '--dir', dir])
      await running.says(text)
      await past(running, dir, topic, 0)
      running.kill(signal)
      const { code, stderr, stdout } = await running.ended
      expect(stderr).toMatch(/^error INTERRUPTED: interrupted; go on with: cascade run --resume --dir \S+\n$/)
      expect(code).toBe(130)
      expect(stdout).not.toContain(later)
      expect(await cascade(['run', '--resume', '--dir', dir])).toMatchObject({ code: 0, stderr: '' })
      expect(await counted(dir, 'evaluations')).toBe(3)
    },
  )

  test('a second signal does not wait for the first', async () => {
    const { config, dir } = await prepared('twice', quickRun({ prompts: 1024 }))
    const running = start(['run', config, '--dir', dir])
    await running.says('begins')
    running.kill('SIGINT')
    running.kill('SIGTERM')
    expect((await running.ended).code).toBe(130)
  })
})

test('pause, resume and stop take effect in the run; another process may read it but not append', async () => {
  const steps = 5000
  const { config, dir } = await prepared('controlled', quickRun({ sft: { steps, checkpointEvery: 200 } }))
  const running = start(['run', config, '--dir', dir])
  await running.says('before training')
  await past(running, dir, 'updates', 0)
  const control = (command: string) => cascade(['control', dir, command])

  expect(await control('pause')).toMatchObject({ code: 0, stderr: '' })
  const paused = await settled(dir)
  expect(paused).toBeLessThan(steps)
  const second = await cascade(['run', '--resume', '--dir', dir])
  expect(second.stderr).toMatch(
    /^error RUN_LOCKED: \S+run\/log: expected no other process .*got process \d+\n$/,
  )
  expect(second.code).toBe(1)
  expect((await cascade(['report', dir])).code).toBe(0)
  expect(await counted(dir, 'updates')).toBe(paused)

  expect(await control('resume')).toMatchObject({ code: 0, stderr: '' })
  await past(running, dir, 'updates', paused)
  expect(await control('stop')).toMatchObject({ code: 0, stderr: '' })
  const stopped = await running.ended
  expect(stopped).toMatchObject({ code: 130, stderr: '' })
  expect(stopped.stdout).toContain('go on with: cascade run --resume')

  const resumed = start(['run', '--resume', '--dir', dir])
  await past(resumed, dir, 'updates', await counted(dir, 'updates'))
  resumed.kill('SIGINT')
  expect((await resumed.ended).code).toBe(130)
})

/** Updates, once the open step is finished and none is added any more. */
async function settled(run: string): Promise<number> {
  for (let before = -1; ; ) {
    const now = await counted(run, 'updates')
    if (now === before) return now
    before = now
    await setTimeout(400)
  }
}
