import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Engine, openEngine } from '../../src/model/engine/index.ts'
import { versionedEngine } from '../../src/policy/versioned-engine.ts'
import { CheckpointStore } from '../../src/update/checkpoint-store.ts'
import { engineSink } from '../../src/update/engine-sink.ts'
import { trainingBatch } from '../../src/update/training-batch.ts'
import type { UpdateSink } from '../../streams/ports.ts'
import { type GradientBatch, gradientBatches, updates } from '../../topics/index.ts'
import { tiny, updateOptions } from '../model/engine/helpers.ts'

let engine: Engine
beforeAll(async () => {
  engine = await openEngine({ config: tiny, deterministic: true, threads: 1, maxRows: 4 })
})
afterAll(() => engine[Symbol.asyncDispose]())

let sink: UpdateSink
beforeEach(async () => {
  await engine.initialise(1)
  const store = new CheckpointStore('no checkpoint is written here')
  const clock = { now: () => 0 }
  sink = engineSink({
    versioned: versionedEngine(engine),
    store,
    clock,
    writerEpoch: 1,
    checkpoints: [],
    keepLast: 1,
  })
})

/** Two rows, of 3 and 2 trained tokens behind a prompt of 2, weighted so that the weights of all tokens sum to 1. */
function batchOf(over: Partial<GradientBatch> = {}, mask = 1): GradientBatch {
  const lossMask = Uint8Array.of(0, 0, 1, 1, 1, 0, 0, 1, 1, 0).map((m) => m * mask)
  const batch: GradientBatch = {
    id: 'sft/1',
    kind: 'batch',
    stage: 'sft',
    domain: 'mixed',
    step: 1,
    baseVersion: 0,
    version: 1,
    members: ['a', 'b'],
    microBatches: [
      {
        rows: 2,
        cols: 5,
        tokens: Int32Array.of(3, 4, 5, 6, 7, 8, 9, 10, 11, 0),
        lengths: Int32Array.of(5, 4),
        lossMask,
        rowWeights: Float32Array.of(0.2, 0.2),
      },
    ],
    options: { ...updateOptions, betas: [0.9, 0.95], objective: 'likelihood' },
    resetOptimizer: false,
    checkpoint: false,
    stats: {},
    ...over,
  }
  return gradientBatches.decode(gradientBatches.encode(batch))
}

async function meanNll(batch: GradientBatch): Promise<number> {
  const { logProbs } = await engine.score(trainingBatch(batch.microBatches[0]!), 1)
  return -logProbs.reduce((a, b) => a + b, 0) / 5
}

const weightsOf = async () => Array.from((await engine.exportState()).weights, ([n, w]) => [n, [...w]])

describe('loss', () => {
  test('of demonstrations is the mean of -log p, which falls as they are learnt', async () => {
    const losses: number[] = []
    for (let version = 1; version <= 3; version++) {
      const batch = batchOf({ baseVersion: version - 1, version })
      const expected = await meanNll(batch)
      const { loss, nll } = await sink.apply(batch, version)
      expect(loss).toBeCloseTo(expected, 4)
      expect(nll).toBe(loss)
      losses.push(loss)
    }
    expect(losses[1]).toBeLessThan(losses[0]!)
    expect(losses[2]).toBeLessThan(losses[1]!)
  })

  test.each([['policy' as const], [undefined]])('of objective %s is the surrogate', async (objective) => {
    const { objective: _, ...options } = batchOf().options!
    const batch = batchOf({ options: objective ? { ...options, objective } : options })
    const expected = await meanNll(batch)
    const update = await sink.apply(batch, 0)
    expect(update.loss).toBeCloseTo(-1, 5)
    expect(update.nll).toBeCloseTo(expected, 4)
  })
})

test.each([
  ['whose tokens are all masked', batchOf({}, 0)],
  ['without rows', batchOf({ microBatches: [] })],
])('a batch %s makes a version of the same weights, and the next one applies', async (_, batch) => {
  const before = await weightsOf()
  const update = await sink.apply(batch, 0)
  expect(update).toMatchObject({ version: 1, tokens: 0, loss: 0, gradNorm: 0, ratioMean: 1 })
  expect(updates.decode(updates.encode(update))).toEqual(update)
  expect(sink.version).toBe(1)
  expect(await weightsOf()).toEqual(before)
  expect(await sink.apply(batchOf({ baseVersion: 1, version: 2 }), 1)).toMatchObject({ tokens: 5 })
})

test('a batch for another version is refused', async () => {
  await expect(sink.apply(batchOf({ baseVersion: 1, version: 2 }), 0)).rejects.toMatchObject({
    code: 'POLICY_VERSION',
    message: 'gradient-batches: sft/1: expected a batch for version 0, got one for 1',
  })
})
