import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { noise } from '../../../src/model/sampling/noise.ts'
import { Sampler } from '../../../src/model/sampling/sampler.ts'

const vocab = 24
type Options = { temperature: number; topP?: number; topK?: number; logprobsMode?: 'processed' | 'raw' }

/** Draws one token for each number of `u`, all from the same logits. */
function draw(logits: number[], u: Float32Array, o: Options) {
  const sampling = {
    topP: 1,
    topK: 0,
    logprobsMode: 'processed' as const,
    maxTokens: 1,
    stopTokens: [],
    ...o,
  }
  // The row before it is another's.
  const row = (temperature: number) =>
    Float32Array.from([...Array(logits.length).fill(0), ...softmax(logits, temperature || 1)])
  const from = { probs: row(o.temperature), raw: row(1) }
  const sampler = new Sampler()
  const draws = Array.from(u, (x) => sampler.draw(from, 1, logits.length, x, sampling))
  return {
    tokens: draws.map((d) => d.token),
    logprobs: draws.map((d) => d.logprob),
    drawn: draws.map((d) => d.drawn),
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

  test('the tokens follow the warped distribution (chi-square)', () => {
    const { tokens } = draw(logits, u, options)
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

  test('reported is the whole distribution, drawn is the warped one', () => {
    const { tokens, logprobs, drawn } = draw(logits, u.subarray(0, 500), options)
    const whole = softmax(logits, options.logprobsMode === 'raw' ? 1 : options.temperature)
    for (const [i, t] of tokens.entries()) {
      expect(logprobs[i]).toBeCloseTo(Math.log(whole[t]!), 4)
      expect(drawn[i]).toBeCloseTo(Math.log(expected[t]!), 4)
    }
  })
})

test('at the ends of the unit interval a token with mass is drawn', () => {
  const ends = Float32Array.of(2 ** -23, 1 - 2 ** -23)
  fc.assert(
    fc.property(
      fc.array(fc.float({ min: -40, max: 40, noNaN: true }), { minLength: vocab, maxLength: vocab }),
      fc.constantFrom(...cases),
      (values, options) => {
        const { tokens } = draw(values, ends, options)
        const p = softmax(values, options.temperature)
        for (const t of tokens) {
          expect(t).toBeLessThan(vocab)
          expect(p[t]).toBeGreaterThan(0)
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('keeps what Hugging Face keeps, whatever the distribution', () => {
  const grid = Float32Array.from({ length: 3000 }, (_, i) => (i + 0.5) / 3000)
  fc.assert(
    fc.property(
      // Few distinct values: ties within the edge and across it.
      fc.array(fc.integer({ min: -6, max: 6 }), { minLength: 2, maxLength: 40 }),
      fc.constantFrom(0.3, 0.83, 0.97, 1),
      fc.integer({ min: 0, max: 41 }),
      (values, topP, topK) => {
        const options = { temperature: 1.1, topP, topK }
        const expected = warped(values, options)
        const tokens = new Set(draw(values, grid, options).tokens)
        for (const [i, p] of expected.entries()) {
          if (p === 0) expect(tokens.has(i)).toBe(false)
          else if (p > 0.001) expect(tokens.has(i)).toBe(true)
        }
      },
    ),
    { numRuns: 300 },
  )
})

test('of equal tokens at the edge the first ones remain, exactly top-k', () => {
  const u = Float32Array.from({ length: 400 }, (_, i) => (i + 0.5) / 400)
  const { tokens } = draw(Array(vocab).fill(0), u, { temperature: 1, topK: 3 })
  expect(new Set(tokens)).toEqual(new Set([0, 1, 2]))
})

test('greedy takes the first of the most probable, whatever else is asked for', () => {
  const { tokens, logprobs, drawn } = draw([0, 2, 1, 2], Float32Array.of(0.9), { temperature: 0, topP: 0.5 })
  expect(tokens).toEqual([1])
  expect(logprobs[0]).toBeCloseTo(Math.log(softmax([0, 2, 1, 2], 1)[1]!), 6)
  expect(drawn).toEqual(logprobs)
})

test('logits that are not finite are an error, not a token', () => {
  const faulty = () => draw([0, Number.NaN], Float32Array.of(0.5), { temperature: 1 })
  expect(faulty).toThrow(expect.objectContaining({ code: 'ENGINE_FAILED' }))
})
