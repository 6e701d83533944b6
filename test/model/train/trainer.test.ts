import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Trainer } from '../../../src/model/train/trainer.ts'
import { initWeights } from '../../../src/model/weights/init.ts'
import { oneThread, tinyBatch, tinyConfig, tinyOptions } from '../tiny.ts'

const weights = initWeights(tinyConfig, 7)
const fresh = () => new Trainer(tinyConfig, { weights, session: oneThread })
let trainer: Trainer
beforeAll(() => {
  trainer = fresh()
})
afterAll(() => trainer[Symbol.asyncDispose]())
const start = () => {
  const zero = new Map(Array.from(weights, ([name, w]) => [name, new Float32Array(w.length)]))
  trainer.loadState({ weights, m: zero, v: zero, step: 0 })
}

describe('step', () => {
  test('repeated on one batch, makes its tokens more likely', async () => {
    start()
    const losses: number[] = []
    for (let i = 0; i < 20; i++) losses.push((await trainer.step(tinyBatch(), tinyOptions)).loss)
    const { logProbs } = await trainer.score(tinyBatch())
    const mean = logProbs.reduce((a, b) => a + b, 0) / (3 * 8)
    // On-policy the ratio is 1, so the loss is minus the sum of the weights, whatever is learnt.
    for (const loss of losses) expect(loss).toBeCloseTo(-1, 5)
    // Close to ln(1/19) = -2.9 before.
    expect(mean).toBeGreaterThan(-1)
  })

  test('reports the entropy, likelihood and number of its tokens and the ratio', async () => {
    start()
    const result = await trainer.step(tinyBatch(), tinyOptions)
    const { entropy, logProbs } = await fresh().score(tinyBatch())
    expect(result).toMatchObject({ tokens: 24, kl: 0, clipFraction: 0, ratioMean: 1, ratioMax: 1 })
    expect(result.entropy).toBeCloseTo(entropy.reduce((a, b) => a + b, 0) / 24, 5)
    expect(result.nll).toBeCloseTo(-logProbs.reduce((a, b) => a + b, 0) / 24, 5)
    expect(result.gradNorm).toBeGreaterThan(0)
  })

  test('gives the same bits from the same state', async () => {
    const states = []
    for (let i = 0; i < 2; i++) {
      start()
      for (let s = 0; s < 3; s++) await trainer.step([tinyBatch(), tinyBatch(2, 5)], tinyOptions)
      states.push(trainer.exportState())
    }
    expect(states[0]).toStrictEqual(states[1])
  })

  test('that is not finite is an error, and changes nothing', async () => {
    start()
    await trainer.step(tinyBatch(), tinyOptions)
    const before = trainer.exportState()
    const far = tinyBatch(3, 9, { oldLogprobs: new Float32Array(27).fill(-1e4) })
    await expect(trainer.step(far, tinyOptions)).rejects.toMatchObject({ code: 'NUMERIC' })
    await expect(trainer.step([far, tinyBatch()], tinyOptions)).rejects.toMatchObject({ code: 'NUMERIC' })
    expect(trainer.exportState()).toStrictEqual(before)
  })

  test('without a trained token is an error', async () => {
    const nothing = tinyBatch(3, 9, { lossMask: new Uint8Array(27) })
    await expect(trainer.step(nothing, tinyOptions)).rejects.toMatchObject({
      code: 'RECORD_INVALID',
      message: 'batch: expected at least one trained token, got none',
    })
  })

  test('with learning rate 0 and no decay leaves the weights, bit for bit', async () => {
    start()
    await trainer.step(tinyBatch(), { ...tinyOptions, lr: 0 })
    expect(trainer.exportWeights()).toStrictEqual(weights)
  })
})

describe('state', () => {
  test('goes out and into another trainer, which continues alike', async () => {
    start()
    await trainer.step(tinyBatch(), tinyOptions)
    await using other = fresh()
    other.loadState(trainer.exportState())
    expect(other.steps).toBe(1)
    await trainer.step(tinyBatch(2, 5), tinyOptions)
    await other.step(tinyBatch(2, 5), tinyOptions)
    expect(other.exportState()).toStrictEqual(trainer.exportState())
  })

  test('is a copy', async () => {
    start()
    const state = trainer.exportState()
    const before = state.weights.get('embed')!.slice()
    await trainer.step(tinyBatch(), tinyOptions)
    expect(state.weights.get('embed')).toStrictEqual(before)
    state.weights.get('embed')!.fill(9)
    expect(trainer.exportWeights().get('embed')![0]).not.toBe(9)
  })

  test('of another shape is refused by name, and changes nothing', () => {
    start()
    const state = trainer.exportState()
    const before = trainer.exportState()
    state.weights.get('embed')!.fill(1)
    state.v.set('layers.1.qkv', new Float32Array(10))
    expect(() => trainer.loadState(state)).toThrow(
      expect.objectContaining({
        code: 'CHECKPOINT_SHAPE',
        message: 'tensor v.layers.1.qkv: expected 512 numbers as [32, 16], got 10 numbers',
      }),
    )
    state.v.delete('layers.1.qkv')
    expect(() => trainer.loadState(state)).toThrow(/v\.layers\.1\.qkv: expected 512 .* got nothing/)
    const extra = { ...before, m: new Map([...before.m, ['layers.2.o', new Float32Array(3)]]) }
    expect(() => trainer.loadState(extra)).toThrow(
      'tensor m.layers.2.o: expected no tensor of that name, got 3 numbers',
    )
    expect(() => trainer.loadState({ ...before, step: -1 })).toThrow(
      expect.objectContaining({ code: 'CHECKPOINT_INVALID' }),
    )
    expect(trainer.exportState()).toStrictEqual(before)
  })

  test('of the optimiser starts afresh when asked, as in a new trainer with these weights', async () => {
    start()
    for (let i = 0; i < 2; i++) await trainer.step(tinyBatch(), tinyOptions)
    trainer.resetOptimizer()
    expect(trainer.steps).toBe(0)
    await using other = new Trainer(tinyConfig, { weights: trainer.exportWeights(), session: oneThread })
    await trainer.step(tinyBatch(), tinyOptions)
    await other.step(tinyBatch(), tinyOptions)
    expect(trainer.exportState()).toStrictEqual(other.exportState())
  })
})

describe('score', () => {
  test('under the reference stays what it was when the reference was set', async () => {
    start()
    trainer.setReference()
    const before = await trainer.score(tinyBatch())
    await trainer.step(tinyBatch(), tinyOptions)
    expect(await trainer.score(tinyBatch(), 1, 'reference')).toStrictEqual(before)
    expect(await trainer.score(tinyBatch())).not.toStrictEqual(before)
  })

  test('takes a reference from elsewhere, and refuses one of another shape', async () => {
    start()
    const other = initWeights(tinyConfig, 8)
    trainer.setReference(other)
    const got = await trainer.score(tinyBatch(), 1.2, 'reference')
    await using expected = new Trainer(tinyConfig, { weights: other, session: oneThread })
    expect(got).toStrictEqual(await expected.score(tinyBatch(), 1.2))
    expect(() => trainer.setReference(new Map())).toThrow(/tensor embed: expected 304 numbers/)
  })

  test('without a reference says so', async () => {
    await using none = fresh()
    await expect(none.score(tinyBatch(), 1, 'reference')).rejects.toMatchObject({ code: 'ENGINE_FAILED' })
  })

  test('does not depend on how rows are padded, and is 0 where not asked', async () => {
    start()
    const plain = tinyBatch(1, 6)
    const at = [2, 3, 4, 5, 6, 7]
    const wide = <T extends Int32Array | Uint8Array>(from: T, to: T): T => {
      for (const [i, p] of at.entries()) to[p] = from[i]!
      return to
    }
    const padded = {
      rows: 1,
      cols: 10,
      tokens: wide(plain.tokens, new Int32Array(10).fill(3)),
      valid: wide(plain.valid, new Uint8Array(10)),
      lossMask: wide(plain.lossMask, new Uint8Array(10)),
    }
    padded.lossMask[4] = 0
    const a = await trainer.score(plain, 0.6)
    const b = await trainer.score(padded, 0.6)
    const expected = new Float32Array(10)
    for (const [i, p] of at.entries()) expected[p] = i === 2 ? 0 : a.logProbs[i]!
    expect(b.logProbs).toStrictEqual(expected)
  })

  test('refuses a temperature of 0', async () => {
    await expect(trainer.score(tinyBatch(), 0)).rejects.toMatchObject({ code: 'RECORD_INVALID' })
  })
})
