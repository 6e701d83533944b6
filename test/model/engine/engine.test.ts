import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type Engine, openEngine, type TrainState } from '../../../src/model/engine/index.ts'
import { bits, microBatch, request, sample, tiny, updateOptions } from './helpers.ts'

let engine: Engine
beforeAll(async () => {
  engine = await openEngine({ config: tiny, deterministic: true, threads: 1, maxRows: 16 })
})
beforeEach(() => engine.initialise(1))
afterAll(() => engine[Symbol.asyncDispose]())

const never = new AbortController().signal
const plain = ({ weights, m, v, step }: TrainState) => ({
  step,
  tensors: [weights, m, v].map((t) => Array.from(t, ([name, data]) => [name, Array.from(data)])),
})

describe('state', () => {
  test('the profile names what the bits depend on', () => {
    expect(engine.profile).toEqual({
      runtime: expect.stringMatching(/^onnxruntime-node \d+\.\d+\.\d+$/),
      provider: 'cpu',
      cpu: expect.stringMatching(/./),
      threads: 1,
      deterministic: true,
      platform: `${process.platform}-${process.arch}`,
    })
  })

  test('initialise is a pure function of the seed and forgets the optimiser', async () => {
    const fresh = plain(await engine.exportState())
    await engine.step([microBatch()], updateOptions)
    const stepped = plain(await engine.exportState())
    await engine.initialise(2)
    const other = plain(await engine.exportState())
    await engine.initialise(1)
    expect(plain(await engine.exportState())).toEqual(fresh)
    expect(stepped).not.toEqual(fresh)
    expect(stepped.step).toBe(1)
    expect(other.tensors[0]).not.toEqual(fresh.tensors[0])
  })

  test('what is exported loads again, and goes on as if nothing had been', async () => {
    await engine.step([microBatch()], updateOptions)
    const state = await engine.exportState()
    const before = bits(await sample(engine, request()))
    const result = await engine.step([microBatch(), microBatch(-0.2)], updateOptions)
    const after = plain(await engine.exportState())
    await engine.loadState(state)
    expect(state.weights.get('embed')).toHaveLength(0)
    expect(bits(await sample(engine, request()))).toEqual(before)
    expect(await engine.step([microBatch(), microBatch(-0.2)], updateOptions)).toEqual(result)
    expect(plain(await engine.exportState())).toEqual(after)
    expect(bits(await sample(engine, request()))).not.toEqual(before)
  })

  test('the optimiser starts afresh, the weights stay', async () => {
    await engine.step([microBatch()], updateOptions)
    const { weights } = await engine.exportState()
    await engine.resetOptimizer()
    const reset = await engine.exportState()
    expect(reset.weights).toEqual(weights)
    expect(reset.step).toBe(0)
    expect(Array.from(reset.m.values()).every((t) => t.every((x) => x === 0))).toBe(true)
  })

  test('the reference stays where it was set', async () => {
    const rows = microBatch()
    await engine.setReference()
    const before = await engine.score(rows, 0.8)
    await engine.step([microBatch()], updateOptions)
    expect(await engine.score(rows, 0.8, 'reference')).toEqual(before)
    expect(await engine.score(rows, 0.8)).not.toEqual(before)
  })
})

describe('order', () => {
  test('a step waits for the generation before it, and the one after it waits for the step', async () => {
    const [before] = [bits(await sample(engine, request({ maxTokens: 40 })))]
    await engine.step([microBatch()], updateOptions)
    const after = bits(await sample(engine, request({ maxTokens: 40 })))
    await engine.initialise(1)
    const finished: string[] = []
    const first = sample(engine, request({ maxTokens: 40 })).finally(() => finished.push('first'))
    const step = engine.step([microBatch()], updateOptions).finally(() => finished.push('step'))
    const second = sample(engine, request({ maxTokens: 40 })).finally(() => finished.push('second'))
    expect([bits(await first), bits(await second)]).toEqual([before, after])
    await step
    expect(finished).toEqual(['first', 'step', 'second'])
  })

  test('what is sampled after a step has the probabilities of the new weights, not of the old ones', async () => {
    const greedy = request({ temperature: 0, maxTokens: 1, rows: 1, stopTokens: [] })
    await sample(engine, greedy)
    await engine.step([microBatch()], updateOptions)
    const [row] = await sample(engine, greedy)
    const tokens = Int32Array.from([...greedy.prompt, row!.tokens[0]!])
    const lossMask = Uint8Array.from(tokens, (_, i) => Number(i === greedy.prompt.length))
    const valid = new Uint8Array(tokens.length).fill(1)
    const { logProbs } = await engine.score({ rows: 1, cols: tokens.length, tokens, valid, lossMask }, 1)
    expect(row!.logprobs[0]).toBeCloseTo(logProbs[greedy.prompt.length]!, 4)
  })

  test('scores and exports are served while a generation is under way', async () => {
    const finished: string[] = []
    const long = sample(engine, request({ maxTokens: 90, stopTokens: [] })).finally(() =>
      finished.push('generate'),
    )
    await engine.score(microBatch(), 1).finally(() => finished.push('score'))
    await engine.exportState().finally(() => finished.push('export'))
    await long
    expect(finished).toEqual(['score', 'export', 'generate'])
  })

  test('every row of every group comes exactly once', async () => {
    const seen = new Map<string, number>()
    await Promise.all(
      Array.from({ length: 20 }, (_, admission) =>
        engine.generate(
          request({ admission, rows: 1 + (admission % 5) }),
          (i) => seen.set(`${admission}/${i}`, (seen.get(`${admission}/${i}`) ?? 0) + 1),
          never,
        ),
      ),
    )
    const expected = Array.from({ length: 20 }, (_, a) =>
      Array.from({ length: 1 + (a % 5) }, (_, i) => `${a}/${i}`),
    )
    expect(Array.from(seen.keys()).sort()).toEqual(expected.flat().sort())
    expect(Array.from(seen.values()).every((n) => n === 1)).toBe(true)
  })
})

describe('cancelling', () => {
  test('an aborted group rejects with the reason and hands out nothing more; others go on', async () => {
    const abort = new AbortController()
    const reason = new Error('enough')
    let rows = 0
    const dropped = engine.generate(request({ maxTokens: 90, stopTokens: [] }), () => rows++, abort.signal)
    const kept = sample(engine, request({ admission: 1 }))
    abort.abort(reason)
    await expect(dropped).rejects.toBe(reason)
    expect(await kept).toHaveLength(4)
    await engine.setReference()
    expect(rows).toBe(0)
  })

  test('a signal that is aborted already starts nothing', async () => {
    const reason = new Error('before')
    await expect(sample(engine, request(), AbortSignal.abort(reason))).rejects.toBe(reason)
  })

  test('a listener that throws ends its group with that error', async () => {
    const fault = new Error('listener')
    let calls = 0
    const group = engine.generate(
      request({ temperature: 0 }),
      () => {
        calls++
        throw fault
      },
      never,
    )
    await expect(group).rejects.toBe(fault)
    await engine.setReference()
    expect(calls).toBe(1)
  })
})

describe('errors', () => {
  test.each([
    ['an empty prompt', { prompt: [] }, 'prompt'],
    ['an id outside the vocabulary', { prompt: [1, 40] }, '40'],
    ['too many positions', { maxTokens: 93 }, '97'],
    ['a negative temperature', { temperature: -1 }, 'temperature'],
    ['a top-p of 0', { topP: 0 }, 'topP'],
    ['no rows', { rows: 0 }, 'rows'],
  ])('generate refuses %s', async (_, options, named) => {
    await expect(sample(engine, request(options))).rejects.toMatchObject({
      name: 'CascadeError',
      code: 'RECORD_INVALID',
      message: expect.stringContaining(named),
    })
  })

  test('codes and context keep, and the state stays as it was', async () => {
    const before = plain(await engine.exportState())
    await expect(engine.step([microBatch(Number.POSITIVE_INFINITY)], updateOptions)).rejects.toMatchObject({
      code: 'NUMERIC',
      context: { tokens: 32 },
    })
    const short = await engine.exportState()
    short.weights.delete('norm')
    await expect(engine.loadState(short)).rejects.toMatchObject({
      code: 'CHECKPOINT_SHAPE',
      message: expect.stringContaining('norm'),
    })
    const bad = { ...microBatch(), weights: new Float32Array(3) }
    await expect(engine.step([bad], updateOptions)).rejects.toMatchObject({ code: 'RECORD_INVALID' })
    expect(plain(await engine.exportState())).toEqual(before)
  })

  test('an execution provider that is not there is named', async () => {
    await using other = await openEngine({ config: tiny, providers: ['nonesuch'] })
    await expect(sample(other, request())).rejects.toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringContaining('nonesuch'),
    })
  })

  test('closing rejects what waits, and all that comes after', async () => {
    const other = await openEngine({ config: tiny, threads: 1 })
    const waiting = [sample(other, request({ maxTokens: 90 })), other.step([microBatch()], updateOptions)]
    const settled = Promise.allSettled(waiting)
    await other[Symbol.asyncDispose]()
    for (const result of await settled) {
      expect(result).toMatchObject({ status: 'rejected', reason: { code: 'ENGINE_FAILED' } })
    }
    await expect(other.exportState()).rejects.toMatchObject({ code: 'ENGINE_FAILED' })
    await other[Symbol.asyncDispose]()
  })
})
