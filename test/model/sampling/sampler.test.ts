import fc from 'fast-check'
import ort from 'onnxruntime-node'
import { describe, expect, test } from 'vitest'
import { sampleGraph } from '../../../src/model/decode/step-graph.ts'
import { noise } from '../../../src/model/sampling/noise.ts'
import { samplerKind } from '../../../src/model/sampling/sampler.ts'
import { tiny } from '../engine/helpers.ts'

const vocab = 24
type Options = { temperature: number; topP?: number; topK?: number; logprobsMode?: 'processed' | 'raw' }

const sessions = new Map<string, ort.InferenceSession>()

/** Draws one token a row of equal logits; `u` has one number a row. */
async function draw(
  logits: number[],
  u: Float32Array,
  { temperature, topP = 1, topK = 0, logprobsMode = 'processed' }: Options,
) {
  const kind = samplerKind({ temperature, topP, topK, logprobsMode, maxTokens: 1, stopTokens: [] })
  const key = JSON.stringify(kind)
  const model = () => sampleGraph({ ...tiny, vocab_size: vocab }, kind).toModel()
  const session = sessions.get(key) ?? (await ort.InferenceSession.create(model(), { intraOpNumThreads: 1 }))
  sessions.set(key, session)
  const rows = u.length
  const column = (x: number) => new ort.Tensor('float32', new Float32Array(rows).fill(x), [rows, 1])
  const all: Record<string, ort.Tensor> = {
    logits: new ort.Tensor(
      'float32',
      Float32Array.from({ length: rows * vocab }, (_, i) => logits[i % vocab]!),
      [rows, vocab],
    ),
    u: new ort.Tensor('float32', u, [rows, 1]),
    inverse_temperature: column(1 / temperature),
    top_p: column(topP),
    top_k: column(topK || vocab),
    candidates: new ort.Tensor('int64', BigInt64Array.of(BigInt(topK || vocab)), [1]),
  }
  const out = await session.run(Object.fromEntries(session.inputNames.map((name) => [name, all[name]!])))
  return {
    tokens: out.token!.data as Int32Array,
    logprobs: out.logprob!.data as Float32Array,
    drawn: out.drawn?.data as Float32Array | undefined,
  }
}

function softmax(logits: number[], temperature: number): number[] {
  const top = Math.max(...logits)
  const masses = logits.map((l) => Math.exp((l - top) / temperature))
  const sum = masses.reduce((a, b) => a + b)
  return masses.map((m) => m / sum)
}

/** What Hugging Face's top-k and top-p warpers leave, in double precision. */
function warped(logits: number[], { temperature, topP = 1, topK = 0 }: Options): number[] {
  const p = softmax(logits, temperature)
  const order = p.map((_, i) => i).sort((a, b) => p[b]! - p[a]!)
  const first = order.slice(0, topK || vocab)
  const mass = first.reduce((sum, i) => sum + p[i]!, 0)
  let before = 0
  const kept = first.filter((i) => {
    const keep = before < topP * mass
    before += p[i]!
    return keep
  })
  const keptMass = kept.reduce((sum, i) => sum + p[i]!, 0)
  return p.map((x, i) => (kept.includes(i) ? x / keptMass : 0))
}

const logits = Array.from({ length: vocab }, (_, i) => 3 * Math.sin(i * 2.7) + (i % 5) * 0.3)
const cases: Options[] = [
  { temperature: 1 },
  { temperature: 0.6 },
  { temperature: 1.3, logprobsMode: 'raw' },
  { temperature: 1, topP: 0.9 },
  { temperature: 1.2, topK: 5 },
  { temperature: 0.8, topP: 0.7, topK: 8 },
  { temperature: 0.8, topP: 0.95, topK: 12, logprobsMode: 'raw' },
]

describe.each(cases)('%j', (options) => {
  const n = 20_000
  const uniform = noise({ run: 11, stage: 'chi', admission: 0 })
  const u = Float32Array.from({ length: n }, (_, i) => uniform(i, 0))
  const expected = warped(logits, options)

  test('the tokens follow the warped distribution (chi-square)', async () => {
    const { tokens } = await draw(logits, u, options)
    const counts = new Float64Array(vocab)
    for (const t of tokens) counts[t]! += 1
    // Rare tokens share a bin.
    let [chi, bins, rare, rareCount] = [0, 0, 0, 0]
    for (const [i, p] of expected.entries()) {
      if (p === 0) expect(counts[i]).toBe(0)
      else if (p * n < 10) [rare, rareCount] = [rare + p * n, rareCount + counts[i]!]
      else [chi, bins] = [chi + (counts[i]! - p * n) ** 2 / (p * n), bins + 1]
    }
    if (rare > 5) [chi, bins] = [chi + (rareCount - rare) ** 2 / rare, bins + 1]
    // Wilson and Hilferty's bound for a probability of 0.001.
    const k = Math.max(bins - 1, 1)
    expect(chi).toBeLessThan(k * (1 - 2 / (9 * k) + 3.09 * Math.sqrt(2 / (9 * k))) ** 3)
  })

  test('reported is the whole distribution, drawn is the warped one', async () => {
    const { tokens, logprobs, drawn } = await draw(logits, u.subarray(0, 500), options)
    const whole = softmax(logits, options.logprobsMode === 'raw' ? 1 : options.temperature)
    for (const [i, t] of tokens.entries()) {
      expect(logprobs[i]).toBeCloseTo(Math.log(whole[t]!), 4)
      expect((drawn ?? logprobs)[i]).toBeCloseTo(Math.log(expected[t]!), 4)
    }
  })
})

test('at the ends of the unit interval a token with mass is drawn', async () => {
  const ends = Float32Array.of(2 ** -23, 1 - 2 ** -23)
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.float({ min: -40, max: 40, noNaN: true }), { minLength: vocab, maxLength: vocab }),
      fc.constantFrom(...cases),
      async (values, options) => {
        const { tokens } = await draw(values, ends, options)
        const p = softmax(values, options.temperature)
        for (const t of tokens) {
          expect(t).toBeLessThan(vocab)
          expect(p[t]).toBeGreaterThan(0)
        }
      },
    ),
    { numRuns: 60 },
  )
})

test('of equal tokens at the edge exactly top-k remain', async () => {
  const u = Float32Array.from({ length: 400 }, (_, i) => (i + 0.5) / 400)
  const { tokens } = await draw(Array(vocab).fill(0), u, { temperature: 1, topK: 3 })
  expect(new Set(tokens).size).toBe(3)
})
