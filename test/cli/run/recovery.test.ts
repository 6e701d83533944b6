import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { cascade, type Ended, recordsOf, start, workspace, writeConfig } from './harness.ts'
import { shortRun, warmUp } from './short-run.ts'

/** More in continuous integration: few kills are enough to see a broken recovery, many to see a rare one. */
const kills = Number(process.env.CASCADE_KILLS ?? 2)
/** At which visit of a crash point; at both where many kills are asked for. */
const visits = (point: number) => (kills > 2 ? [1, 3] : [point % 2 === 0 ? 1 : 3])

const points = [
  'commit:before',
  'commit:after',
  'checkpoint:written',
  'checkpoint:synced',
  'checkpoint:renamed',
  'drain',
  'evaluation',
  'transition',
]

let space: Awaited<ReturnType<typeof workspace>>
let config: string
let undisturbed: Record<string, string[]>
let milliseconds = 0

beforeAll(async () => {
  space = await workspace()
  const init = await warmUp(space.dir)
  config = await writeConfig(space.dir, shortRun(init))
  const begun = Date.now()
  const ended = await cascade(runArguments('undisturbed'))
  milliseconds = Date.now() - begun
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  undisturbed = await recordsOf(runOf('undisturbed'))
}, 120_000)

afterAll(() => space[Symbol.asyncDispose]())

/** The run's name goes into its group ids, so that every run is called the same. */
const runOf = (attempt: string) => join(space.dir, attempt, 'run')
const runArguments = (attempt: string) => [
  'run',
  config,
  '--dir',
  runOf(attempt),
  '--seed',
  '3',
  '--deterministic',
]

async function resumed(attempt: string): Promise<Ended> {
  const ended = await cascade(['run', '--resume', '--dir', runOf(attempt)])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  return ended
}

test('the undisturbed run trains in every stage', () => {
  const updates = undisturbed.updates!.map((text) => JSON.parse(text) as { stage: string })
  expect(new Set(updates.map((u) => u.stage))).toEqual(new Set(['sft', 'instruct', 'math']))
  expect(undisturbed['rollouts.math']!.length).toBeGreaterThanOrEqual(3 * 8 * 4)
})

describe('killed, then resumed: the same records and the same weights, bit for bit', () => {
  test.each(points.flatMap((p, i) => visits(i).map((n) => `${p}@${n}`)))('at %s', async (point) => {
    const attempt = point.replaceAll(/[:@]/g, '-')
    await mkdir(join(space.dir, attempt), { recursive: true })
    const killed = await cascade(runArguments(attempt), { CASCADE_CRASH_AT: point })
    expect(killed.signal).toBe('SIGKILL')
    await resumed(attempt)
    expect(await recordsOf(runOf(attempt))).toEqual(undisturbed)
  })

  test.each(Array.from({ length: kills }, (_, i) => i + 1))('at a random moment, number %i', async (n) => {
    const attempt = `random-${n}`
    const running = start(runArguments(attempt))
    const timer = setTimeout(() => running.kill('SIGKILL'), 300 + Math.random() * milliseconds)
    const ended = await running.ended
    clearTimeout(timer)
    if (ended.signal === 'SIGKILL') await resumed(attempt).catch(() => cascade(runArguments(attempt)))
    expect(await recordsOf(runOf(attempt))).toEqual(undisturbed)
  })
})
