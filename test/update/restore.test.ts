import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EmbeddedLog, openLog } from '../../src/log/index.ts'
import type { Engine } from '../../src/model/engine/index.ts'
import { versionedEngine } from '../../src/policy/versioned-engine.ts'
import { CheckpointStore } from '../../src/update/checkpoint-store.ts'
import { restoreSink } from '../../src/update/restore.ts'
import { follow } from '../../streams/follow.ts'
import type { Append, UpdateSink } from '../../streams/ports.ts'
import { type Checkpoint, checkpoints, type GradientBatch, gradientBatches } from '../../topics/index.ts'
import { batch, bitsOf, clock, folder, never, smallEngine } from './helpers.ts'

let engine: Engine

beforeAll(async () => {
  engine = await smallEngine()
})

afterAll(() => engine[Symbol.asyncDispose]())

interface Restored extends AsyncDisposable {
  readonly log: EmbeddedLog
  readonly sink: UpdateSink
  readonly reapplied: number
}

/** Opens a run as a process does that has just started. */
async function restore(run: string, o: { seed?: number; init?: string } = {}): Promise<Restored> {
  const log = await openLog({ dir: join(run, 'log'), mode: 'append', clock, mapBytes: 2 ** 26 })
  let reapplied = 0
  try {
    const sink = await restoreSink({
      log,
      versioned: versionedEngine(engine),
      store: new CheckpointStore(run),
      writerEpoch: log.epoch,
      clock,
      seed: 3,
      keepLast: 1,
      signal: never,
      onReapply: (n) => {
        reapplied = n
      },
      ...o,
    })
    return { log, sink, reapplied, [Symbol.asyncDispose]: () => log.close() }
  } catch (error) {
    await log.close()
    throw error
  }
}

const withKl = (version: number, change: Partial<GradientBatch> = {}): GradientBatch => {
  const plain = batch(version, change)
  return { ...plain, options: { ...plain.options!, klCoef: 0.5 } }
}

/** Applies a batch and commits it as settled, with its checkpoint where it asks for one. */
async function applied({ log, sink }: Restored, value: GradientBatch): Promise<void> {
  const offset = await log.offset(gradientBatches.name, 'latest')
  await log.commit({ append: [{ topic: gradientBatches, value } as Append], settle: [] })
  const append: Append[] = []
  if (value.kind === 'batch') await sink.apply(value, offset)
  if (value.checkpoint || value.kind === 'flush') {
    const { stage, step } = value
    const reason = value.kind === 'flush' ? 'stage-end' : 'interval'
    const at = { stage, step, reason, gradientBatchOffset: offset + 1 } as const
    append.push({ topic: checkpoints, value: await sink.checkpoint(at) } as Append)
  }
  await log.commit({ append, settle: [{ group: 'update', topic: gradientBatches.name, offset }] })
}

async function committed(log: EmbeddedLog): Promise<Checkpoint[]> {
  const all: Checkpoint[] = []
  await follow(log, checkpoints, { from: 0, until: 'end', signal: never }, (r) => void all.push(r.value))
  return all
}

test('a new run begins with weights of its seed, committed as its first checkpoint, once', async () => {
  await using run = await folder()
  let first: Record<string, string>
  {
    await using begun = await restore(run.path)
    first = await bitsOf(engine)
    expect(begun.sink.version).toBe(0)
    expect(await committed(begun.log)).toMatchObject([
      { stage: 'start', step: 0, version: 0, reason: 'initial', gradientBatchOffset: 0 },
    ])
  }
  await engine.initialise(99)
  await using again = await restore(run.path, { seed: 4 })
  expect(await bitsOf(engine)).toEqual(first)
  expect(await committed(again.log)).toHaveLength(1)
})

test('or with the weights of another checkpoint, and a fresh optimiser', async () => {
  await using other = await folder()
  let init: string
  let weights: Record<string, string>
  {
    await using begun = await restore(other.path)
    await applied(begun, batch(1, { checkpoint: true }))
    init = join(other.path, (await committed(begun.log)).at(-1)!.path)
    weights = await bitsOf(engine)
  }
  await using run = await folder()
  await using _ = await restore(run.path, { init })
  const now = await bitsOf(engine)
  const ofModel = (bits: Record<string, string>) =>
    Object.entries(bits).filter(([name]) => name.startsWith('weights.'))
  expect(ofModel(now)).toEqual(ofModel(weights))
  expect(now.step).toBe('0')
  expect(weights.step).toBe('1')
})

test('a folder whose weights cannot be used is named', async () => {
  await using other = await folder()
  await writeFile(join(other.path, 'config.json'), '{}')
  await using run = await folder()
  await expect(restore(run.path, { init: other.path })).rejects.toThrow(other.path)
  await expect(restore(run.path, { init: join(other.path, 'none') })).rejects.toThrow(
    join(other.path, 'none'),
  )
})

test('after an interval checkpoint the batches since are applied again: the same bits, the KL reference too', async () => {
  await using run = await folder()
  const script = [
    batch(1),
    batch(1, { id: 'flush', kind: 'flush', microBatches: [] }),
    withKl(2, { stage: 'b', resetOptimizer: true }),
    withKl(3, { stage: 'b', checkpoint: true }),
    withKl(4, { stage: 'b' }),
    withKl(5, { stage: 'b' }),
  ]
  {
    await using begun = await restore(run.path)
    for (const value of script) await applied(begun, value)
  }
  const left = await bitsOf(engine)
  await engine.initialise(99)
  await engine.setReference()
  {
    await using again = await restore(run.path)
    expect([again.reapplied, again.sink.version]).toEqual([2, 5])
    expect(await bitsOf(engine)).toEqual(left)
    expect((await committed(again.log)).map((c) => c.reason)).toEqual(['initial', 'stage-end', 'interval'])
    // The next batch of the stage still refers to where the stage began.
    expect((await again.sink.apply(withKl(6, { stage: 'b' }), 6)).kl).toBeGreaterThan(1e-4)
  }
})

test('a batch that was never settled is not applied, and a checkpoint that was never committed is removed', async () => {
  await using run = await folder()
  let left: Record<string, string>
  let stray: Checkpoint
  {
    await using begun = await restore(run.path)
    await applied(begun, batch(1))
    left = await bitsOf(engine)
    const value = batch(2)
    await begun.log.commit({ append: [{ topic: gradientBatches, value } as Append], settle: [] })
    await begun.sink.apply(value, 1)
    stray = await begun.sink.checkpoint({ stage: 'sft', step: 2, reason: 'interval', gradientBatchOffset: 2 })
  }
  await using again = await restore(run.path)
  expect([again.reapplied, again.sink.version]).toEqual([1, 1])
  expect(await bitsOf(engine)).toEqual(left)
  const read = new CheckpointStore(run.path).read(stray)
  await expect(read).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' })
})
