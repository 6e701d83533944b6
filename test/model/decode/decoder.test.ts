import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { GeneratedRow, GenerateRequest } from '../../../src/model/decode/requests.ts'
import { bits, request, tiny } from '../engine/helpers.ts'
import { peaked, Rig } from './run.ts'

const prompt = (seed: number, length: number) =>
  Array.from({ length }, (_, i) => 3 + ((i * 11 + seed * 5) % 37))

/** Groups of different prompts and lengths, some longer than a step of the cache's width. */
const mixed = (o: Parameters<typeof request>[0] = {}): GenerateRequest[] =>
  [3, 18, 7, 1, 33].map((length, admission) =>
    request({
      prompt: prompt(admission, length),
      rows: 2 + admission,
      admission,
      maxTokens: 20 + admission,
      ...o,
    }),
  )

describe('log-probabilities', () => {
  for (const temperature of [0.6, 1, 1.2]) {
    test.each([
      ['two key-value heads for four', tiny],
      ['heads of 24', { ...tiny, head_dim: 24 }],
      [
        'tied embeddings, as many key-value heads',
        { ...tiny, tie_word_embeddings: true, num_key_value_heads: 4 },
      ],
    ])(`agree with score at temperature ${temperature}: %s`, async (_, config) => {
      await using rig = new Rig(config)
      const requests = mixed({ temperature })
      const groups = await rig.sample(requests)
      for (const [g, rows] of groups.entries()) {
        const scores = await rig.score(requests[g]!.prompt, rows, temperature)
        for (const [i, row] of rows.entries()) {
          for (const [t, expected] of scores[i]!.entries())
            expect(Math.abs(row.logprobs[t]! - expected)).toBeLessThan(1e-4)
        }
      }
    })
  }

  test('in mode raw they are those at temperature 1, with the same tokens', async () => {
    await using rig = new Rig(tiny)
    const raw = request({ temperature: 0.6, logprobsMode: 'raw' })
    const [rows, processed] = await rig.sample([raw, request({ temperature: 0.6 })])
    expect(rows!.map((r) => r.tokens)).toEqual(processed!.map((r) => r.tokens))
    const [at1, at06] = [await rig.score(raw.prompt, rows!, 1), await rig.score(raw.prompt, rows!, 0.6)]
    for (const [i, row] of rows!.entries()) {
      const expected = at1[i]!.map((s, t) => at06[i]![t]! - s)
      for (const [t, s] of at1[i]!.entries()) expect(row.logprobs[t]).toBeCloseTo(s, 4)
      expect(row.mismatch).toBeCloseTo(expected.reduce((a, b) => a + b) / expected.length, 4)
    }
  })
})

describe('weights built into the step', () => {
  test('give the log-probabilities of score, and are those of now after a change', async () => {
    await using rig = new Rig(tiny, { packAfter: 2 })
    const agree = async (requests: readonly GenerateRequest[]) => {
      for (const [g, rows] of (await rig.sample(requests)).entries()) {
        const { prompt: ids, sampling } = requests[g]!
        const temperature = sampling.logprobsMode === 'raw' ? 1 : sampling.temperature
        for (const [i, expected] of (await rig.score(ids, rows, temperature)).entries()) {
          for (const [t, e] of expected.entries())
            expect(Math.abs(rows[i]!.logprobs[t]! - e)).toBeLessThan(1e-4)
        }
      }
    }
    await agree(mixed())
    await agree(mixed({ logprobsMode: 'raw', temperature: 0.6 }))
    rig.trainer.loadState({ ...rig.trainer.exportState(), weights: peaked(tiny, 3) })
    await rig.decoder.weightsChanged()
    await agree(mixed())
    await agree(mixed({ logprobsMode: 'raw', temperature: 0.6 }))
  })

  test('are left alone when deterministic', async () => {
    const sampled: unknown[] = []
    for (const packAfter of [0, 64]) {
      await using rig = new Rig(tiny, { deterministic: true, packAfter })
      sampled.push((await rig.sample(mixed())).map(bits))
    }
    expect(sampled[0]).toEqual(sampled[1])
  })
})

describe('batching', () => {
  test('tokens hardly depend on it: at least 99.9 % agree over batch sizes', async () => {
    const requests = Array.from({ length: 24 }, (_, admission) =>
      request({
        prompt: prompt(admission, 4 + (admission % 9)),
        rows: 4,
        admission,
        maxTokens: 48,
        stopTokens: [],
      }),
    )
    const rows: GeneratedRow[][] = []
    for (const [maxRows, packAfter] of [
      [1, 64],
      [20, 64],
      [256, 64],
      [256, 0],
    ]) {
      await using rig = new Rig(tiny, { maxRows: maxRows!, packAfter: packAfter! })
      rows.push((await rig.sample(requests)).flat())
    }
    const flat = rows.map((r) => r.flatMap(({ tokens }) => Array.from(tokens)))
    expect(flat[0]!.length).toBe(24 * 4 * 48)
    for (const other of flat.slice(1)) {
      const agreed = other.filter((token, i) => token === flat[0]![i]).length
      expect(agreed / other.length).toBeGreaterThanOrEqual(0.999)
    }
  })

  test('a batch that a long row has left still has room for the next one', async () => {
    await using rig = new Rig(tiny)
    const requests = [
      request({ prompt: prompt(0, 40), rows: 1, maxTokens: 4, stopTokens: [] }),
      request({ prompt: prompt(1, 3), rows: 9, admission: 1, maxTokens: 29, stopTokens: [] }),
      request({ prompt: prompt(2, 3), rows: 4, admission: 2, maxTokens: 8, stopTokens: [] }),
    ]
    const rows = await rig.sample(requests, () => {}, [0, 0, 8])
    expect(rows.map((r) => r.map(({ tokens }) => tokens.length))).toEqual([
      Array(1).fill(4),
      Array(9).fill(29),
      Array(4).fill(8),
    ])
  })

  test('rows that have finished and wait for others to leave stay within their places', async () => {
    await using rig = new Rig(tiny)
    // All the positions that the model has; the first two rows are done rounds before they are an eighth.
    const full = { maxTokens: 92, stopTokens: [] }
    const requests = [request({ ...full, rows: 2 }), request({ ...full, rows: 30, admission: 1 })]
    const rows = (await rig.sample(requests, () => {}, [0, 6])).flat()
    expect(rows.map((r) => r.tokens.length)).toEqual(Array(32).fill(92))
  })

  test('deterministic: neither order, nor company, nor a restart changes a bit', async () => {
    const requests = [
      ...mixed(),
      request({ rows: 1, admission: 9, topP: 0.8 }),
      request({ temperature: 0, admission: 10 }),
    ]
    const alone = new Map<GenerateRequest, unknown>()
    for (const r of requests) {
      await using rig = new Rig(tiny, { deterministic: true })
      alone.set(r, bits((await rig.sample([r]))[0]!))
    }
    await using rig = new Rig(tiny, { deterministic: true })
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(requests, { minLength: 1 }), async (some) => {
        const results = await rig.sample(some)
        for (const [i, r] of some.entries()) expect(bits(results[i]!)).toEqual(alone.get(r))
      }),
      { numRuns: 12 },
    )
  })

  test.each([true, false])(
    'a cancelled group is dropped at once, the others go on; deterministic: %j',
    async (deterministic) => {
      await using rig = new Rig(tiny, { deterministic })
      const [first, second, third] = [request({ maxTokens: 60, stopTokens: [] }), mixed()[1]!, mixed()[2]!]
      const expected = (await rig.sample([second, third])).map(bits)
      let rounds = 0
      const [none, ...others] = await rig.sample([first, second, third], (groups, round) => {
        if (round === 3) groups[0]!.cancel()
        rounds = round
      })
      expect(none).toEqual([])
      if (deterministic) expect(others.map(bits)).toEqual(expected)
      else expect(others.map((r) => r.length)).toEqual([second.rows, third.rows])
      expect(rounds).toBeLessThan(60)
    },
  )
})

describe('the end of a response', () => {
  test('is the first stop token, kept as the last one, or the length', async () => {
    await using rig = new Rig(tiny)
    const open = mixed({ stopTokens: [], maxTokens: 30 })
    const stopped = mixed({ stopTokens: [5, 9], maxTokens: 30 })
    const [full, cut] = [(await rig.sample(open)).flat(), (await rig.sample(stopped)).flat()]
    const reasons = new Set<string>()
    for (const [i, { tokens, logprobs, finishReason }] of cut.entries()) {
      const all = Array.from(full[i]!.tokens)
      const at = all.findIndex((t) => [5, 9].includes(t))
      expect(Array.from(tokens)).toEqual(at < 0 ? all : all.slice(0, at + 1))
      expect(finishReason).toBe(at < 0 ? 'length' : 'stop')
      expect(logprobs).toHaveLength(tokens.length)
      reasons.add(finishReason)
    }
    expect(reasons).toEqual(new Set(['stop', 'length']))
  })

  test('a stop token as the last one that fits is a stop', async () => {
    await using rig = new Rig(tiny)
    const [rows] = await rig.sample([
      request({ maxTokens: 1, stopTokens: Array.from({ length: 40 }, (_, i) => i) }),
    ])
    expect(rows!.map((r) => [r.tokens.length, r.finishReason])).toEqual(Array(4).fill([1, 'stop']))
  })
})

test('greedy takes the most probable token, and reports it at temperature 1', async () => {
  await using rig = new Rig(tiny)
  const greedy = request({ temperature: 0, rows: 2, maxTokens: 8, stopTokens: [] })
  const [rows] = await rig.sample([greedy])
  expect(rows![0]!.tokens).toEqual(rows![1]!.tokens)
  const [scores] = await rig.score(greedy.prompt, rows!, 1)
  const tokens = Array.from(rows![0]!.tokens)
  for (const [t, token] of tokens.entries()) {
    expect(rows![0]!.logprobs[t]).toBeCloseTo(scores![t]!, 4)
    const prefix = Int32Array.from([...greedy.prompt, ...tokens.slice(0, t)])
    const rivals = Array.from({ length: tiny.vocab_size }, (_, v) => ({
      ...rows![0]!,
      tokens: Int32Array.of(v),
    }))
    const all = (await rig.score(prefix, rivals, 1)).map((r) => r[0]!)
    expect(all[token]! + 1e-4).toBeGreaterThanOrEqual(Math.max(...all))
  }
})
