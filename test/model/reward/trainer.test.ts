import { expect, test } from 'vitest'
import { RewardTrainer } from '../../../src/model/reward/trainer.ts'
import { initWeights } from '../../../src/model/weights/init.ts'
import { oneThread, tinyConfig } from '../tiny.ts'
import { pairOptions, rewardConfig, text } from './tiny-reward.ts'

const trainer = (session: object = oneThread) =>
  new RewardTrainer(rewardConfig, { weights: initWeights(rewardConfig, 3), session })
const pair = (n: number) => ({ chosen: text(5 + n, n), rejected: text(9, n + 50) })

test.each([
  ['one thread', oneThread],
  ['two threads', { intraOpNumThreads: 2 }],
])('the bits of a reward do not depend on what else is asked for, %s', async (_, session) => {
  await using t = trainer(session)
  const texts = Array.from({ length: 80 }, (_, i) => text(1 + ((i * 11) % 48), i))
  const together = await t.rewards(texts)
  const alone: number[] = []
  for (const one of texts) alone.push((await t.rewards([one]))[0]!)
  expect(alone).toEqual(Array.from(together))
  expect(Array.from(await t.rewards(texts.toReversed()))).toEqual(Array.from(together).reverse())
  expect(new Set(together).size).toBe(80)
  expect(await t.rewards([])).toEqual(new Float32Array())
})

test('a reward depends on nothing behind the last token', async () => {
  await using t = trainer()
  const [short, long] = [text(9, 1), text(17, 1)]
  const [alone] = await t.rewards([short])
  // In one run with a longer text the short one is padded to its length.
  const { level } = await t.step([[{ chosen: long, rejected: short }]], { ...pairOptions, lr: 0 })
  const [other] = await t.rewards([long])
  expect(level).toBeCloseTo((alone! + other!) / 2, 5)
})

test('centring moves the level of rewards, and nothing else does', async () => {
  const pairs = Array.from({ length: 6 }, (_, n) => pair(n))
  const levels: number[] = []
  for (const centering of [0, 1]) {
    await using t = trainer()
    let level = 0
    for (let i = 0; i < 60; i++) level = (await t.step([pairs], { ...pairOptions, centering })).level
    levels.push(Math.abs(level))
    const { accuracy, margin } = await t.step([pairs], pairOptions)
    expect(accuracy).toBe(1)
    expect(margin).toBeGreaterThan(0.5)
  }
  expect(levels[1]!).toBeLessThan(0.05)
})

test.each([
  ['no pair', [[]], /step: expected at least one pair, got none/],
  [
    'an empty text',
    [[{ chosen: text(0, 1), rejected: text(3, 1) }]],
    /text 0: expected 1 to 48 tokens, got 0/,
  ],
  [
    'a text too long',
    [[pair(1), { chosen: text(3, 1), rejected: text(49, 1) }]],
    /text 3: expected 1 to 48 tokens, got 49/,
  ],
  [
    'a strange token',
    [[{ chosen: Int32Array.of(3, 104), rejected: text(3, 1) }]],
    /text 0: token id: expected 0 to 103, got 104/,
  ],
])('%s is refused by name, and nothing has changed', async (_, micro, message) => {
  await using t = trainer()
  await expect(t.step(micro, pairOptions)).rejects.toMatchObject({
    code: 'RECORD_INVALID',
    message: expect.stringMatching(message),
  })
  expect(t.exportState()).toMatchObject({ step: 0, weights: initWeights(rewardConfig, 3) })
})

test('a loss that is not finite is an error that changes nothing', async () => {
  const weights = initWeights(rewardConfig, 3)
  weights.get('score')!.fill(3e38)
  await using t = new RewardTrainer(rewardConfig, { weights, session: oneThread })
  await expect(t.step([[pair(1)]], pairOptions)).rejects.toMatchObject({ code: 'NUMERIC' })
  expect(t.exportState()).toMatchObject({ step: 0, weights })
})

test('a language model is none', () => {
  const weights = initWeights(tinyConfig, 1)
  expect(() => new RewardTrainer(tinyConfig, { weights })).toThrow('head: expected reward')
})
