import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { Engine } from '../../src/model/engine/index.ts'
import { keptOf } from '../../src/update/engine-sink.ts'
import { trainingBatch } from '../../src/update/training-batch.ts'
import { checkpoints, type GradientBatch, updates } from '../../topics/index.ts'
import { batch, bitsOf, folder, sinkOn, smallEngine } from './helpers.ts'

let engine: Engine
let run: Awaited<ReturnType<typeof folder>>

beforeAll(async () => {
  run = await folder()
  engine = await smallEngine()
})

afterAll(async () => {
  await engine[Symbol.asyncDispose]()
  await run[Symbol.asyncDispose]()
})

beforeEach(() => engine.initialise(1))

test('every checkpoint of a stage is kept, and the newest of the others', () => {
  const written = ['initial', 'interval', 'interval', 'stage-end', 'interval', 'interval'] as const
  const list = written.map((reason, i) => ({ id: String(i), reason, gradientBatchOffset: i }))
  expect(keptOf(list, 1)).toEqual(new Set(['0', '3', '5']))
  expect(keptOf(list, 3)).toEqual(new Set(['0', '3', '2', '4', '5']))
  expect(keptOf(list, 9).size).toBe(6)
  expect(keptOf([], 2)).toEqual(new Set())
  // A run that trains on from the middle of another's stage begins with one of those.
  const first = { id: 'first', reason: 'interval', gradientBatchOffset: 0 } as const
  expect(keptOf([first, ...list], 1)).toEqual(new Set(['first', '0', '3', '5']))
})

test('an update says what it was made of, and moves weights and version', async () => {
  const { sink, versioned } = sinkOn(engine, run.path)
  const before = await bitsOf(engine)
  const update = await sink.apply(batch(1), 17)
  expect(updates.schema.parse(update)).toMatchObject({
    id: 'sft:1',
    stage: 'sft',
    domain: 'math',
    step: 1,
    version: 1,
    gradientBatchOffset: 17,
    lr: 1e-2,
    tokens: 7,
    rows: 2,
    staleness: 0,
    stats: { reward: 0.5 },
  })
  expect(update.gradNorm).toBeGreaterThan(0)
  expect([sink.version, versioned.version]).toEqual([1, 1])
  expect(await bitsOf(engine)).not.toEqual(before)
})

test.each([0, 2])('a batch on other weights, version %i, changes nothing', async (base) => {
  const { sink } = sinkOn(engine, run.path, { version: 1 })
  const before = await bitsOf(engine)
  const wrong = batch(base + 1)
  await expect(sink.apply(wrong, 0)).rejects.toMatchObject({
    code: 'POLICY_VERSION',
    message: `gradient-batches: ${wrong.id}: expected a batch for version 1, got one for ${base}`,
  })
  expect([sink.version, await bitsOf(engine)]).toEqual([1, before])
})

test('a batch without options is refused', async () => {
  const { options: _, ...bare } = batch(1)
  await expect(sinkOn(engine, run.path).sink.apply(bare, 0)).rejects.toMatchObject({ code: 'RECORD_INVALID' })
})

const withKl = (version: number, stage: string): GradientBatch => {
  const plain = batch(version)
  return { ...plain, stage, options: { ...plain.options!, klCoef: 0.5 } }
}

test('the KL term refers to the weights that a stage begins with', async () => {
  const { sink } = sinkOn(engine, run.path)
  // The first update of a stage is at its reference: no divergence yet.
  expect((await sink.apply(withKl(1, 'a'), 0)).kl).toBeCloseTo(0, 6)
  expect((await sink.apply(withKl(2, 'a'), 1)).kl).toBeGreaterThan(1e-4)
  expect((await sink.apply(withKl(3, 'b'), 2)).kl).toBeCloseTo(0, 6)
  expect((await sink.apply(withKl(4, 'b'), 3)).kl).toBeGreaterThan(1e-4)
})

test('where a restart is in the middle of a stage, its reference stays', async () => {
  const { sink } = sinkOn(engine, run.path, { stage: 'a' })
  await engine.setReference()
  await engine.initialise(2)
  expect((await sink.apply(withKl(1, 'a'), 0)).kl).toBeGreaterThan(1e-4)
})

test('the optimiser starts afresh where the batch asks for it', async () => {
  const { sink } = sinkOn(engine, run.path)
  await sink.apply(batch(1), 0)
  await sink.apply(batch(2), 1)
  expect((await engine.exportState()).step).toBe(2)
  await sink.apply(batch(3, { resetOptimizer: true }), 2)
  expect((await engine.exportState()).step).toBe(1)
})

test('a checkpoint says where it is and what it covers; older ones of intervals go', async () => {
  const { sink, store } = sinkOn(engine, run.path)
  const at = { stage: 'sft', step: 0, gradientBatchOffset: 0 }
  const first = await sink.checkpoint({ ...at, reason: 'initial' })
  const written = [first]
  for (let version = 1; version <= 5; version++) {
    await sink.apply(batch(version), version - 1)
    written.push(
      await sink.checkpoint({
        stage: 'sft',
        step: version,
        reason: 'interval',
        gradientBatchOffset: version,
      }),
    )
  }
  const last = checkpoints.schema.parse(written.at(-1))
  expect(last).toMatchObject({
    version: 5,
    step: 5,
    writerEpoch: 1,
    gradientBatchOffset: 5,
    reason: 'interval',
  })
  expect(last.files.map((f) => f.name)).toEqual([
    'config.json',
    'model.safetensors',
    'optimizer.safetensors',
    'tokenizer.json',
    'manifest.json',
  ])
  expect(last.weightsHash).toBe(last.files[1]!.sha256)
  const manifest = JSON.parse(await readFile(join(run.path, last.path, 'manifest.json'), 'utf8')) as object
  expect(manifest).toMatchObject({ format: 1, version: 5, stage: 'sft', step: 5, reason: 'interval' })
  // keepLast is 1, and two more may still be on their way into the log.
  for (const kept of [first, ...written.slice(-3)]) expect((await store.read(kept)).size).toBe(5)
  for (const gone of written.slice(1, -3)) {
    await expect(store.read(gone)).rejects.toMatchObject({ code: 'CHECKPOINT_NOT_FOUND' })
  }
})

test('off-policy it says how far away the policy is that sampled', async () => {
  const { sink } = sinkOn(engine, run.path)
  const given = batch(1)
  const [micro] = given.microBatches
  const { logProbs } = await engine.score(trainingBatch(micro!), 1)
  const shift = (i: number) => [0.5, -0.25, 0, 0.125][i % 4]!
  const oldLogprobs = Float32Array.from(logProbs, (l, i) => l + shift(i))
  const trained = [...micro!.lossMask.keys()].filter((i) => micro!.lossMask[i] === 1)
  const mean = (of: (log: number) => number) =>
    trained.reduce((sum, i) => sum + of(-shift(i)), 0) / trained.length
  const off = { ...given, staleness: 3, microBatches: [{ ...micro!, oldLogprobs }] }
  const update = updates.schema.parse(await sink.apply(off, 0))
  expect(update.staleness).toBe(3)
  expect(update.ratioMean).toBeCloseTo(mean(Math.exp), 5)
  expect(update.behaviourKl).toBeCloseTo(
    mean((log) => Math.exp(log) - 1 - log),
    5,
  )
  expect((await sink.apply(batch(2), 1)).behaviourKl).toBeUndefined()
})
