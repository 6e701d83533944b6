import fc from 'fast-check'
import type { ForeignRollout } from '../../src/exchange/foreign.ts'

/** Texts with all that JSON, lines and code points can trip over. */
export const texts = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.string({ unit: 'grapheme', maxLength: 30 }),
  fc.constantFrom('', '\u2028a\u2029', '😀', 'a\nb\r\n', '"\\'),
)

/** What a line of JSON can hold: no negative zero. The codec's decoder renames __proto__, for safety. */
const json = fc
  .jsonValue({ maxDepth: 2 })
  .filter((value) => value !== null && !JSON.stringify(value).includes('__proto__'))
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown)
const float = fc.float({ noNaN: true, noDefaultInfinity: true })
const id = fc.integer({ min: 0, max: 2 ** 31 - 1 })

/** A member of a group as a source with tokens and log-probabilities knows it; the policy sampled the first and the last token. */
const member = (prompt: string, promptTokens: Int32Array): fc.Arbitrary<ForeignRollout> =>
  fc
    .record({
      response: texts,
      tokens: fc.array(fc.record({ id, logprob: float, own: fc.boolean() }), { minLength: 1, maxLength: 8 }),
      score: fc.double({ noNaN: true, noDefaultInfinity: true }),
      groundTruth: json,
      version: fc.integer({ min: 0, max: 1000 }),
      finished: fc.boolean(),
    })
    .map(({ response, tokens, score, groundTruth, version, finished }) => ({
      prompt,
      promptTokens,
      response,
      responseTokens: Int32Array.from(tokens, (t) => t.id),
      // Positive zero: JSON has no other.
      logprobs: Float32Array.from(tokens, (t) => t.logprob + 0),
      lossMask: Uint8Array.from(tokens, (t, i) => (t.own || i === 0 || i === tokens.length - 1 ? 1 : 0)),
      policyVersion: version,
      versionSpans: [{ version, start: 0, end: tokens.length }],
      finishReason: finished ? ('stop' as const) : ('length' as const),
      status: finished ? ('completed' as const) : ('truncated' as const),
      groundTruth,
      reward: { outcome: 'score' as const, score: score + 0 },
    }))

/** Of one prompt. */
export const groups: fc.Arbitrary<ForeignRollout[]> = fc
  .record({ prompt: texts, tokens: fc.array(id, { maxLength: 6 }) })
  .chain(({ prompt, tokens }) =>
    fc.array(member(prompt, Int32Array.from(tokens)), { minLength: 1, maxLength: 4 }),
  )
