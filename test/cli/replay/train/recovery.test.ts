import { existsSync } from 'node:fs'
import { cp, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { rewards } from '../../../../topics/index.ts'
import { invoke, jsonLines } from '../../invoke.ts'
import { cascade, recordsOf, start, workspace } from '../../run/harness.ts'
import { quickRun } from '../../run/quick-run.ts'
import { valuesOf } from '../stripped.ts'
import { sampledRun, spreadOf, type Trained, trainArguments, trained, verifierOf } from './training-run.ts'

let space: Awaited<ReturnType<typeof workspace>>
let run: string
let verifier: string
let whole: Trained
let records: Record<string, string[]>
let judgedOnly: string

beforeAll(async () => {
  space = await workspace()
  const rl = { steps: 3, prompts: 3, checkpointEvery: 2, klCoef: 0.01, lr: 1e-2 }
  run = await sampledRun(space.dir, quickRun({ rl }))
  verifier = await verifierOf(space.dir, spreadOf(await valuesOf(run, rewards('math'))))
  await mkdir(join(space.dir, 'whole'))
  whole = await trained({ run, verifier, to: join(space.dir, 'whole', name) })
  records = await recordsOf(whole.to)
  expect(whole.closed.map((c) => c.offPolicy?.staleness)).toEqual([undefined, 1, 2])
  await mkdir(join(space.dir, 'judged'))
  judgedOnly = join(space.dir, 'judged', name)
  const args = words(judgedOnly, '--apply').filter((a) => a !== '--train')
  expect((await invoke(args)).code).toBe(0)
}, 60_000)

afterAll(() => space[Symbol.asyncDispose]())

/** It is part of a run's records. */
const name = 'again'

const words = (to: string, ...more: string[]) => trainArguments({ run, verifier, to, more })

/** A copy of the run that is judged and not trained. */
async function copyOf(folder: string): Promise<string> {
  const to = join(space.dir, folder, name)
  await cp(judgedOnly, to, { recursive: true })
  return to
}

/** Sequence numbers of control grow with its records alone; the rest must be the same. */
async function goesOn(to: string): Promise<void> {
  const { code, out } = await invoke(words(to, '--apply', '--json'))
  expect({ code, last: jsonLines(out).at(-1) }).toMatchObject({
    code: 0,
    last: { weights: whole.result.weights },
  })
  expect(jsonLines(out).some((l) => l.event === 'report')).toBe(false)
  expect(await recordsOf(to)).toEqual(records)
}

/** The first weights; a step closed and not applied; files of a checkpoint that is not committed. More where many kills are asked for. */
const points = ['commit:before', 'commit:after@4', 'checkpoint:renamed@2']
if (process.env.CASCADE_KILLS) {
  points.push('commit:after', 'commit:before@3', 'commit:before@4', 'commit:after@5', 'commit:after@6')
  points.push(
    'commit:after@7',
    'commit:after@8',
    'commit:after@9',
    'checkpoint:written',
    'checkpoint:synced@2',
  )
  points.push('checkpoint:renamed@3')
}

test.each(points)('killed at %s, the same command goes on to the same records and weights', async (point) => {
  const to = await copyOf(`killed-${point.replaceAll(/\W/g, '-')}`)
  const ended = await cascade(words(to, '--apply', '--json'), {
    CASCADE_CRASH_AT: point,
  })
  expect(ended.signal).toBe('SIGKILL')
  await goesOn(to)
})

test('stopped with Ctrl-C it says how to go on', async () => {
  const to = await copyOf('stopped')
  const running = start(words(to, '--apply', '--json'))
  await running.says('"event":"evaluation"')
  running.kill('SIGINT')
  const ended = await running.ended
  expect(ended.code).toBe(130)
  expect(ended.stderr).toContain('the same command with --dir')
  await goesOn(to)
})

test('killed while it judges, nothing is there under its name, and the next try removes what is left', async () => {
  const parent = join(space.dir, 'judging')
  await mkdir(parent)
  const to = join(parent, 'late')
  const slow = join(parent, 'slow.js')
  await writeFile(slow, 'export const judge = () => new Promise(() => undefined)\n')
  const running = start(trainArguments({ run, verifier: slow, to, more: ['--apply'] }))
  while (!(await readdir(parent)).some((n) => n.endsWith('.partial')))
    await new Promise((r) => setTimeout(r, 20))
  running.kill('SIGKILL')
  await running.ended
  expect(existsSync(to)).toBe(false)
  const { code } = await invoke(trainArguments({ run, verifier: 'sum', to, more: ['--apply'] }))
  expect(code).toBe(0)
  expect((await readdir(parent)).sort()).toEqual(['late', 'slow.js'])
})

test('once it has ended the same command finds nothing to do', async () => {
  const { to } = whole
  const { code, out } = await invoke(words(to, '--apply', '--json'))
  expect(code).toBe(0)
  expect(jsonLines(out)).toMatchObject([{ event: 'trained', weights: whole.result.weights }])
  expect(await recordsOf(to)).toEqual(records)
})

test('other rollouts, another verifier or another start are refused, and named', async () => {
  const { to } = whole
  const range = await invoke(words(to, '--apply', '--to', 'step:rl/2'))
  expect(range.code).toBe(2)
  expect(range.err).toMatch(/^error RUN_EXISTS: .*\(to 12\), got to 18/)
  const verifier = await invoke(trainArguments({ run, verifier: 'sum', to, more: ['--apply'] }))
  expect(verifier.err).toMatch(/^error RUN_EXISTS: .*verifier/)
  const from = await invoke(words(to, '--apply', '--from-checkpoint', 'sft'))
  expect(from.err).toMatch(/^error USAGE: --from-checkpoint: expected none, as the training/)
  const other = await invoke(words(run, '--apply'))
  expect(other.err).toMatch(/^error RUN_EXISTS: .*got a run of its own/)
})
