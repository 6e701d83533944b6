import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { decodeFrame, encodeFrame, frameHeaderBytes } from '../../topics/codec.ts'
import { defineTopic, isCascadeError, type Rollout, rollouts } from '../../topics/index.ts'
import { samples } from './samples.ts'

const field = fc.oneof(
  fc.int32Array(),
  fc.float32Array({ noNaN: true }),
  fc.uint8Array(),
  fc.string({ unit: 'grapheme' }),
  // Adding 0 makes -0 a 0: a plain number's sign of zero is not kept.
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
  fc.maxSafeInteger(),
  fc.boolean(),
  fc.constant(null),
)
const value = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), fc.oneof(field, fc.array(field)), {
  noNullPrototype: true,
})

function codeOf(action: () => unknown): string {
  try {
    action()
  } catch (error) {
    if (isCascadeError(error)) return `${error.code} ${error.message}`
    throw error
  }
  return 'nothing was thrown'
}

test('any value comes back as it was, typed arrays by their kind', () => {
  fc.assert(
    fc.property(value, fc.integer({ min: 1, max: 0xffff }), (v, version) => {
      expect(decodeFrame(encodeFrame(version, v), 'here')).toStrictEqual({ version, value: v })
    }),
  )
})

test('what is decoded owns its memory: the log reuses its pages', () => {
  const frame = encodeFrame(1, { a: Uint8Array.of(1, 2), b: Int32Array.of(3) })
  const { value: decoded } = decodeFrame(frame, 'here')
  frame.fill(0)
  expect(decoded).toEqual({ a: Uint8Array.of(1, 2), b: Int32Array.of(3) })
})

test('any flipped bit is caught, and the record named', () => {
  const { topic, value: rollout } = samples.rollouts!
  const frame = Buffer.from(topic.encode(rollout))
  const where = 'topic rollouts.math offset 12'
  fc.assert(
    fc.property(fc.nat(frame.length - 1), fc.nat(7), (at, bit) => {
      const broken = Buffer.from(frame)
      broken[at]! ^= 1 << bit
      expect(codeOf(() => topic.decode(broken, where))).toMatch(`RECORD_CORRUPT ${where}: expected `)
    }),
    { numRuns: 300 },
  )
})

test('a frame cut anywhere is corrupt', () => {
  const frame = encodeFrame(1, { tokens: Int32Array.of(1, 2, 3) })
  for (let length = 0; length < frame.length; length++)
    expect(codeOf(() => decodeFrame(frame.subarray(0, length), 'here'))).toMatch(/^RECORD_CORRUPT here: /)
})

describe('versions', () => {
  const schema = z.object({ trail: z.array(z.number()) })
  type Trail = z.infer<typeof schema>
  const step = (n: number) => (v: unknown) => ({ trail: [...(v as Trail).trail, n] })
  const topic = defineTopic<Trail>({
    name: 'trails',
    version: 3,
    schema,
    key: () => 'k',
    upcasters: { 1: step(1), 2: step(2) },
  })

  test.each([
    [1, [1, 2]],
    [2, [2]],
    [3, []],
  ])('one of version %i passes through its upcasters in order', (version, trail) => {
    expect(topic.decode(encodeFrame(version, { trail: [] }))).toEqual({ trail })
  })

  test.each([0, 4])('version %i is refused', (version) => {
    const frame = encodeFrame(version, { trail: [] })
    expect(codeOf(() => topic.decode(frame, 'topic trails offset 3'))).toMatch(
      `RECORD_VERSION topic trails offset 3: expected trails version 1 to 3, got ${version}`,
    )
  })

  test('what an upcaster makes has to fit the schema', () => {
    expect(codeOf(() => topic.decode(encodeFrame(2, { trail: ['x'] })))).toMatch(
      'RECORD_INVALID trails: field trail.0: ',
    )
  })

  test('a missing upcaster and a version that is none are faults of the code', () => {
    const define = (version: number) => () => defineTopic({ name: 't', version, schema, key: () => 'k' })
    expect(define(2)).toThrow('expected an upcaster from version 1')
    expect(define(0)).toThrow('expected a version from 1 to 65535, got 0')
  })
})

describe('a token', () => {
  const short = samples.rollouts!.value as Rollout
  const base: Rollout = { ...short, refLogprobs: undefined, teacherLogprobs: undefined }

  /** A rollout of `n` response tokens whose other fields do not grow. */
  function of(n: number): Rollout {
    return {
      ...base,
      responseTokens: new Int32Array(n).fill(70_000),
      responseLogprobs: new Float32Array(n).fill(-0.3),
      lossMask: new Uint8Array(n).fill(1),
    }
  }

  test('with log-probability and mask takes at most 12 bytes in the log and in memory', () => {
    const topic = rollouts('math')
    const n = 4096
    const [none, many] = [topic.encode(of(0)), topic.encode(of(n))]
    expect((many.length - none.length) / n).toBeLessThanOrEqual(12)
    const read = topic.decode(many)
    const buffers = new Set([read.responseTokens, read.responseLogprobs, read.lossMask].map((a) => a.buffer))
    const held = [...buffers].reduce((sum, buffer) => sum + buffer.byteLength, 0)
    expect(held / n).toBeLessThanOrEqual(12)
    expect(frameHeaderBytes).toBe(8)
  })
})

test.each([
  ['responseLogprobs', Float32Array.of(-1)],
  ['lossMask', Uint8Array.of(1)],
  ['refLogprobs', Float32Array.of(-1)],
  ['teacherLogprobs', Float32Array.of(-1)],
  ['responseLogprobs', Float32Array.of(Number.NaN, -1, -1)],
  ['responseTokens', [21, 65_000, 2]],
  ['status', 'finished'],
])('a rollout with a wrong %s does not get into the log', (name, wrong) => {
  const { topic, value: rollout } = samples.rollouts!
  expect(codeOf(() => topic.encode({ ...(rollout as Rollout), [name]: wrong }))).toMatch(
    `RECORD_INVALID rollouts.math: field ${name} of record 6f1d0c:5: `,
  )
})

test('a reward has a score, a lost member has none', () => {
  const { topic, value: reward } = samples.rewards!
  const lost = { ...(reward as object), kind: 'member-lost' }
  expect(codeOf(() => topic.encode(lost))).toMatch('RECORD_INVALID rewards.math: field score')
  expect(topic.decode(topic.encode({ ...lost, score: undefined }))).toMatchObject({ kind: 'member-lost' })
})

test('a field of a newer build survives a round trip', () => {
  const { topic, value: rollout } = samples.rollouts!
  expect(topic.decode(topic.encode({ ...(rollout as Rollout), newer: 1 }))).toMatchObject({ newer: 1 })
})
