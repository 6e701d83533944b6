import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openLog } from '../../../src/log/index.ts'
import { follow } from '../../../streams/follow.ts'
import { control, gradientBatches, prompts, type Topic } from '../../../topics/index.ts'
import { cascade, type Running, start, workspace, writeConfig } from './harness.ts'
import { quickRun } from './quick-run.ts'

async function values<T>(run: string, topic: Topic<T>): Promise<T[]> {
  await using log = await openLog({ dir: join(run, 'log'), mode: 'read', clock: { now: () => Date.now() } })
  const { signal } = new AbortController()
  const all: T[] = []
  const from = await log.offset(topic.name, 'earliest')
  await follow(log, topic, { from, until: 'end', signal }, (r) => void all.push(r.value))
  return all
}

/** Waits until a topic of a run at work has a record that fits. @throws how the run ended, where it does first */
async function until<T>(running: Running, run: string, topic: Topic<T>, fits: (value: T) => boolean) {
  for (;;) {
    const ended = await Promise.race([running.ended, setTimeout(50)])
    if (existsSync(join(run, 'log', 'log.json')) && (await values(run, topic)).some(fits)) return
    if (ended) throw new Error(`expected a record of ${topic.name}, got the end: ${JSON.stringify(ended)}`)
  }
}

test('fields are set and stages finished while a run goes on, also across a kill', async () => {
  await using space = await workspace()
  const long = { steps: 100_000, checkpointEvery: 50 }
  const config = await writeConfig(space.dir, quickRun({ sft: long, rl: { ...long, patience: 100_000 } }))
  const dir = join(space.dir, 'run')
  const order = (...words: string[]) => cascade(['control', dir, ...words])

  const first = start(['run', config, '--dir', dir])
  await until(first, dir, gradientBatches, (b) => b.step > 5)
  const set = await order('set', 'sft.lr=0.0005', '--json')
  expect(set).toMatchObject({ code: 0, stderr: '' })
  const { step } = JSON.parse(set.stdout)
  expect(JSON.parse(set.stdout)).toMatchObject({ command: 'set', stage: 'sft', field: 'lr', value: 0.0005 })
  expect((await order('set', 'rl.temperature=0.7')).stdout).toBe('rl.temperature is 0.7 from step 1 on\n')
  expect(await order('set', 'sft.batch=9')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^error USAGE: control set: sft\.batch: expected one of lr, .*, got batch\n$/,
    ),
  })
  expect(await order('set', 'lr=9')).toMatchObject({
    code: 2,
    stderr: 'error USAGE: control set: expected STAGE.FIELD=NUMBER, got lr=9\n',
  })
  await until(first, dir, gradientBatches, (b) => b.step > step)
  first.kill('SIGKILL')
  await first.ended
  const last = Math.max(...(await values(dir, gradientBatches)).map((b) => b.step))

  const second = start(['run', '--resume', '--dir', dir])
  await until(second, dir, gradientBatches, (b) => b.step > last + 5)
  expect((await order('finish-stage')).stdout).toBe('finishing the stage: the open step is its last\n')
  await until(second, dir, prompts('math'), (p) => p.step > 1)
  expect(await order('finish-stage')).toMatchObject({ code: 0, stderr: '' })
  expect(await second.ended).toMatchObject({ code: 0, stderr: '' })

  const batches = (await values(dir, gradientBatches)).filter((b) => b.stage === 'sft' && b.kind === 'batch')
  expect(new Set(batches.filter((b) => b.step >= step).map((b) => b.options!.lr))).toEqual(new Set([0.0005]))
  expect(batches.filter((b) => b.step < step).every((b) => b.options!.lr === 1e-3)).toBe(true)
  const asked = await values(dir, prompts('math'))
  expect(new Set(asked.map((p) => p.sampling.temperature))).toEqual(new Set([0.7]))
  const ends = (await values(dir, control)).flatMap((c) => (c.type === 'stage-end' ? [c.reason] : []))
  expect(ends).toEqual(['finish-stage', 'finish-stage'])
})
