import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tokenWeights, type Weighted } from '../../streams/normaliser.ts'

const shape = { prompts: 4, groupSize: 3, maxTokens: 10 }
const kinds = ['batch', 'group', 'response', 'constant'] as const

/** The loss as the papers write it, over a log-probability a token: sums of sums, nothing shared with the weights. */
function loss(
  kind: (typeof kinds)[number],
  responses: readonly Weighted[],
  logprobs: readonly number[][],
): number {
  const sum = (of: readonly number[]) => of.reduce((a, b) => a + b, 0)
  const term = (i: number) => responses[i]!.advantage * sum(logprobs[i]!)
  const all = responses.map((_, i) => i)
  switch (kind) {
    case 'batch':
      return -sum(all.map(term)) / sum(responses.map((r) => r.tokens))
    case 'group': {
      const groups = [...new Set(responses.map((r) => r.group))]
      const means = groups.map((g) => {
        const own = all.filter((i) => responses[i]!.group === g)
        return sum(own.map(term)) / Math.max(1, sum(own.map((i) => responses[i]!.tokens)))
      })
      return -sum(means) / groups.length
    }
    case 'response':
      return -sum(all.map((i) => term(i) / Math.max(1, responses[i]!.tokens))) / responses.length
    case 'constant':
      return -sum(all.map(term)) / (4 * 3 * 10)
  }
}

const responses = fc.array(
  fc.record({
    group: fc.nat(4),
    advantage: fc.double({ min: -3, max: 3, noNaN: true }),
    tokens: fc.nat(10),
  }),
  { minLength: 1, maxLength: 12 },
)

describe.each(kinds)('%s', (normaliser) => {
  test('weights a token as the formula of its paper does', () => {
    fc.assert(
      fc.property(responses, fc.infiniteStream(fc.double({ min: -5, max: 0, noNaN: true })), (rs, draw) => {
        const logprobs = rs.map((r) => Array.from({ length: r.tokens }, () => draw.next().value as number))
        const weights = tokenWeights(rs, { ...shape, normaliser })
        const ours = -logprobs
          .flatMap((lps, i) => lps.map((lp) => weights[i]! * lp))
          .reduce((a, b) => a + b, 0)
        expect(ours).toBeCloseTo(rs.some((r) => r.tokens > 0) ? loss(normaliser, rs, logprobs) : 0, 9)
      }),
    )
  })

  test('is finite without a single token', () => {
    const rs = [{ group: 0, advantage: 1, tokens: 0 }]
    expect(tokenWeights(rs, { ...shape, normaliser })).toEqual([0])
  })
})

test('the four differ where lengths do: by hand', () => {
  const rs: Weighted[] = [
    { group: 0, advantage: 1, tokens: 2 },
    { group: 0, advantage: -1, tokens: 6 },
    { group: 1, advantage: 2, tokens: 2 },
  ]
  const of = (normaliser: (typeof kinds)[number]) => tokenWeights(rs, { ...shape, normaliser })
  expect(of('batch')).toEqual([1 / 10, -1 / 10, 2 / 10])
  expect(of('group')).toEqual([1 / 16, -1 / 16, 2 / 4])
  expect(of('response')).toEqual([1 / 6, -1 / 18, 2 / 6])
  expect(of('constant')).toEqual([1 / 120, -1 / 120, 2 / 120])
})
