import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RewardEngine } from '../../../src/model/reward/engine.ts'
import { fitDefaults, freshModel, type TextPair, trainRewardModel } from '../../../src/model/reward/index.ts'
import { initWeights, zeroState } from '../../../src/model/weights/init.ts'
import { rewardConfig as config, pairOptions, text } from './tiny-reward.ts'

const state = () => ({ weights: initWeights(config, 3), m: zeroState(config), v: zeroState(config), step: 0 })
const never = new AbortController().signal

describe('the engine', () => {
  let engine: RewardEngine
  beforeAll(async () => {
    engine = await RewardEngine.open({ config, threads: 1 })
  })
  afterAll(() => engine[Symbol.asyncDispose]())

  test('steps, scores and gives its state from a thread of its own', async () => {
    expect(engine.profile).toMatchObject({ provider: 'cpu', threads: 1 })
    await engine.loadState(state())
    const texts = [text(4, 1), text(9, 2)]
    const before = await engine.rewards(texts)
    const pairs = [{ chosen: texts[0]!, rejected: texts[1]! }]
    expect(await engine.step([pairs], pairOptions)).toMatchObject({ pairs: 1 })
    const after = await engine.rewards(texts)
    expect(after[0]! - after[1]!).toBeGreaterThan(before[0]! - before[1]!)
    expect((await engine.exportState()).step).toBe(1)
    await engine.loadState(state())
    expect(await engine.rewards(texts)).toEqual(before)
  })

  test('faults are of their call alone', async () => {
    await expect(engine.rewards([text(49, 1)])).rejects.toMatchObject({ code: 'RECORD_INVALID' })
    const weights = initWeights({ ...config, num_hidden_layers: 1 }, 1)
    await expect(engine.loadState({ ...state(), weights })).rejects.toMatchObject({
      code: 'CHECKPOINT_SHAPE',
    })
    expect(await engine.rewards([text(3, 1)])).toHaveLength(1)
  })

  test('an abort rejects at once, and the engine goes on', async () => {
    const abort = new AbortController()
    const calls = [engine.rewards([text(3, 1)], abort.signal), engine.rewards([text(3, 2)])]
    abort.abort(new Error('enough'))
    await expect(calls[0]).rejects.toThrow('enough')
    expect(await calls[1]).toHaveLength(1)
  })
})

test('closing rejects what waits and comes later', async () => {
  const engine = await RewardEngine.open({ config, threads: 1 })
  const call = engine.rewards([text(3, 1)])
  const closed = engine[Symbol.asyncDispose]()
  await expect(call).rejects.toMatchObject({ code: 'ENGINE_FAILED' })
  await closed
  await expect(engine.exportState()).rejects.toMatchObject({ code: 'ENGINE_FAILED' })
})

/** Prefers what ends as the prompt asks; neither length nor the ending alone decides. */
const pairs: TextPair[] = Array.from({ length: 400 }, (_, i) => {
  const marks = ['!', '?'] as const
  const body = 'abcdefgh'.slice(i % 5, 3 + ((i * 3) % 6))
  const end = marks[(i >> 1) % 2]!
  return { prompt: `${end}\n`, chosen: body + end, rejected: body + marks[1 - ((i >> 1) % 2)]! }
})

describe('training', () => {
  const start = () => freshModel({ layers: 1, hidden: 16, heads: 2, maxLength: 24 }, 1)
  const options = { ...fitDefaults, steps: 60, batch: 16, lr: 0.01, seed: 1 }
  const trainOn = (given: readonly TextPair[], more = {}, signal = never) =>
    trainRewardModel(
      { start: start(), pairs: given, heldOut: pairs.slice(0, 64), fit: { ...options, ...more }, threads: 1 },
      signal,
    )

  test('learns what the prompt decides; with the pairs turned round, the opposite', async () => {
    const steps: number[] = []
    const { heldOut, untrained } = await trainRewardModel(
      {
        start: start(),
        pairs: pairs.slice(64),
        heldOut: pairs.slice(0, 64),
        fit: options,
        threads: 1,
        onStep: (step) => steps.push(step),
      },
      never,
    )
    expect(steps).toEqual(Array.from({ length: 60 }, (_, i) => i + 1))
    expect(untrained.right / 64).toBeLessThan(0.75)
    expect(heldOut).toMatchObject({ pairs: 64, right: 64 })
    const turned = pairs
      .slice(64)
      .map(({ prompt, chosen, rejected }) => ({ prompt, chosen: rejected, rejected: chosen }))
    expect((await trainOn(turned)).heldOut.right).toBe(0)
  })

  test('gives the same weights again, from another order others', async () => {
    const few = { steps: 5 }
    const { weights } = await trainOn(pairs, few)
    expect((await trainOn(pairs, few)).weights).toEqual(weights)
    expect((await trainOn(pairs, { ...few, seed: 2 })).weights).not.toEqual(weights)
  })

  test('micro-batches change no more than the last bits', async () => {
    const [whole, parts] = [
      await trainOn(pairs, { steps: 5 }),
      await trainOn(pairs, { steps: 5, microBatchTokens: 64 }),
    ]
    for (const [name, values] of whole.weights) {
      for (const [i, v] of values.entries()) expect(parts.weights.get(name)![i]!).toBeCloseTo(v, 3)
    }
  })

  test('stops when it is told to', async () => {
    const abort = new AbortController()
    const training = trainRewardModel(
      {
        start: start(),
        pairs,
        heldOut: pairs.slice(0, 8),
        fit: { ...options, steps: 100_000 },
        threads: 1,
        onStep: () => abort.abort(new Error('enough')),
      },
      abort.signal,
    )
    await expect(training).rejects.toThrow('enough')
  })

  test('names a text that the model cannot read', async () => {
    await expect(trainOn([{ prompt: '', chosen: 'é', rejected: '' }])).rejects.toThrow('U+00E9')
  })
})
