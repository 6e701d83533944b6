import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  type PairOptions,
  type PairResult,
  RewardTrainer,
  type TokenPair,
} from '../../../src/model/reward/trainer.ts'
import { decodeCheckpoint } from '../../../src/model/weights/checkpoint.ts'
import { expectClose, minus, tensorsOf, tolerance } from '../close.ts'
import { oneThread } from '../tiny.ts'

// The numbers come from fixtures/make.py.
const read = (name: string) => readFileSync(new URL(`./fixtures/pytorch/${name}`, import.meta.url))
const files = new Map(['config.json', 'model.safetensors'].map((name) => [name, read(name)]))
const { config, state } = decodeCheckpoint(files)
const given = JSON.parse(read('steps.json').toString()) as {
  options: PairOptions
  texts: number[][]
  rewards: number[]
  rewardsAfter: number[]
  steps: PairResult[]
}
const tensors = (file: string, prefix: string) => tensorsOf(config, read(file), file, prefix)
const texts = given.texts.map((t) => Int32Array.from(t))
const pairs: TokenPair[] = texts
  .filter((_, i) => i % 2 === 0)
  .map((chosen, i) => ({ chosen, rejected: texts[2 * i + 1]! }))
const trainer = () => new RewardTrainer(config, { weights: state.weights, session: oneThread })

function expectNear(got: number, expected: number, what: string): void {
  expect(Math.abs(got - expected) / Math.max(Math.abs(expected), 0.1), what).toBeLessThan(tolerance)
}

test('the fixture has a scalar head, pairs of different lengths and gradients that are clipped', () => {
  expect(config.head).toBe('reward')
  expect(new Set(texts.map((t) => t.length)).size).toBeGreaterThan(5)
  for (const { gradNorm } of given.steps) expect(gradNorm).toBeGreaterThan(given.options.maxGradNorm)
  expect(given.options.centering).toBeGreaterThan(0)
})

test('rewards are those of LlamaForSequenceClassification', async () => {
  await using t = trainer()
  const rewards = await t.rewards(texts)
  for (const [i, expected] of given.rewards.entries()) expectNear(rewards[i]!, expected, `text ${i}`)
})

describe.each([
  ['one batch', [pairs]],
  ['three micro-batches and an empty one', [pairs.slice(0, 1), [], pairs.slice(1, 4), pairs.slice(4)]],
])('from %s', (_, micro) => {
  test('the gradients are those of PyTorch', async () => {
    await using t = trainer()
    await t.step(micro, given.options)
    const scale = 1 / (1 - given.options.betas[0])
    const { m } = t.exportState()
    const gradients = new Map(Array.from(m, ([name, values]) => [name, values.map((v) => v * scale)]))
    expectClose(gradients, tensors('gradients.safetensors', ''))
  })

  test('so are loss, weights, moments and rewards after three steps', async () => {
    await using t = trainer()
    for (const expected of given.steps) {
      const got = await t.step(micro, given.options)
      for (const [name, value] of Object.entries(expected)) {
        expectNear(got[name as keyof PairResult], value, name)
      }
    }
    const after = tensors('after.safetensors', 'w.')
    const { weights, m, v } = t.exportState()
    expectClose(weights, after)
    expectClose(m, tensors('after.safetensors', 'm.'))
    expectClose(v, tensors('after.safetensors', 'v.'))
    expectClose(minus(weights, state.weights), minus(after, state.weights))
    const rewards = await t.rewards(texts)
    for (const [i, expected] of given.rewardsAfter.entries()) expectNear(rewards[i]!, expected, `text ${i}`)
  })
})
