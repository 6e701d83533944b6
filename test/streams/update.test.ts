import { lastValueFrom } from 'rxjs'
import { expect, test } from 'vitest'
import { createCredit } from '../../streams/credit.ts'
import type { Append, TopicLog } from '../../streams/ports.ts'
import { runUpdate } from '../../streams/roles.ts'
import { sink } from '../../streams/sink.ts'
import { source } from '../../streams/source.ts'
import { update } from '../../streams/update.ts'
import { checkpoints, type GradientBatch, gradientBatches, updates } from '../../topics/index.ts'
import { Crash, crashingLog } from './crashing-log.ts'
import { turns } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'
import { Model } from './world.ts'

const batch = (version: number, over: Partial<GradientBatch> = {}): GradientBatch => ({
  id: `math/${version}`,
  kind: 'batch',
  stage: 'math',
  domain: 'math',
  step: version,
  baseVersion: version - 1,
  version,
  members: ['g'],
  microBatches: [
    {
      rows: 1,
      cols: 2,
      tokens: Int32Array.of(1, version),
      lengths: Int32Array.of(2),
      lossMask: Uint8Array.of(0, 1),
      rowWeights: Float32Array.of(1),
    },
  ],
  options: {
    lr: 0.1,
    betas: [0.9, 0.95],
    eps: 1e-8,
    weightDecay: 0,
    maxGradNorm: 1,
    temperature: 1,
    klCoef: 0,
  },
  resetOptimizer: false,
  checkpoint: false,
  stats: { reward: 0.5 },
  ...over,
})
const flush = batch(3, {
  id: 'math/flush',
  kind: 'flush',
  step: 3,
  baseVersion: 3,
  microBatches: [],
  checkpoint: true,
})

async function logOf(...batches: GradientBatch[]): Promise<MemoryLog> {
  const log = new MemoryLog()
  await log.commit({
    append: batches.map((value) => ({ topic: gradientBatches, value }) as Append),
    settle: [],
  })
  return log
}

function run(log: TopicLog, model: Model): Promise<unknown> {
  const credit = createCredit({ records: 8, bytes: 1 << 20 })
  const flow = source(log, gradientBatches, { group: 'update', credit, until: 'end' })
  return lastValueFrom(flow.pipe(update(model), sink(log)), { defaultValue: undefined })
}

test('each batch is applied once, in order; its record says what was applied', async () => {
  const log = await logOf(batch(1), batch(2))
  const model = new Model()
  await run(log, model)
  await run(log, model)
  expect(model.applied).toEqual(['math/1', 'math/2'])
  expect(log.values(updates).map((u) => [u.id, u.step, u.version, u.gradientBatchOffset, u.stats])).toEqual([
    ['math/1', 1, 1, 0, { reward: 0.5 }],
    ['math/2', 2, 2, 1, { reward: 0.5 }],
  ])
  expect(log.values(checkpoints)).toEqual([])
})

test('a checkpoint comes where the batch asks for one, and with a flush, which updates nothing', async () => {
  const log = await logOf(batch(1), batch(2, { checkpoint: true }), batch(3), flush)
  await run(log, new Model())
  const written = log.values(checkpoints).map((c) => [c.reason, c.step, c.version, c.gradientBatchOffset])
  expect(written).toEqual([
    ['interval', 2, 2, 2],
    ['stage-end', 3, 3, 4],
  ])
  expect(log.values(updates).map((u) => u.version)).toEqual([1, 2, 3])
})

test('a batch for another version is refused: nothing is written and nothing settled', async () => {
  const log = await logOf(batch(2))
  const model = new Model()
  await expect(run(log, model)).rejects.toMatchObject({ code: 'POLICY_VERSION' })
  expect(model.version).toBe(0)
  expect(log.values(updates)).toEqual([])
  expect(await log.position('update', 'gradient-batches')).toEqual({ floor: 0, beyond: [] })
})

test.each(['before', 'after'] as const)(
  'killed %s a commit, a restored sink writes each record once',
  async (when) => {
    const whole = await logOf(batch(1), batch(2, { checkpoint: true }), batch(3), flush)
    const model = await Model.restore(whole, 1)
    await run(whole, model)
    for (let k = 1; k < whole.commits; k++) {
      const log = await logOf(batch(1), batch(2, { checkpoint: true }), batch(3), flush)
      const dying = crashingLog(log, k, when)
      const first = await Model.restore(dying, 1)
      await run(dying, first).catch((error: unknown) => {
        if (!(error instanceof Crash)) throw error
      })
      const second = await Model.restore(log, 1)
      await run(log, second)
      expect(second.weights).toBe(model.weights)
      for (const topic of [updates, checkpoints])
        expect(log.values<unknown>(topic)).toEqual(whole.values<unknown>(topic))
    }
  },
)

test('an aborted update waits for the sink, which cannot be interrupted', async () => {
  const log = new MemoryLog()
  await log.commit({ append: [{ topic: gradientBatches, value: batch(1) } as Append], settle: [] })
  let finish: () => void = () => undefined
  const applying = new Promise<void>((resolve) => {
    finish = resolve
  })
  const slow = new Model()
  const apply = slow.apply.bind(slow)
  let started = false
  slow.apply = async (...args) => {
    started = true
    await applying
    return apply(...args)
  }
  const stop = new AbortController()
  let over = false
  const running = runUpdate(log, slow, {
    stages: [],
    credit: { records: 32, bytes: 1 << 20 },
    signal: stop.signal,
  })
  const ended = expect(running.finally(() => (over = true))).rejects.toThrow('enough')
  while (!started) await turns()
  stop.abort(new Error('enough'))
  await turns()
  expect(over).toBe(false)
  finish()
  await ended
})
