import { describe, expect, test } from 'vitest'
import { type CompositePart, composite } from '../../../src/verifiers/composite/index.ts'
import type { Verdict, Verifier } from '../../../streams/ports.ts'
import { CascadeError, type Rollout } from '../../../topics/index.ts'

const rollout = (tokens = 10) => ({ responseText: '', responseTokens: new Int32Array(tokens) }) as Rollout
const part = (
  name: string,
  verify: Verifier['verify'] | number,
  over: Omit<CompositePart, 'verifier'> = {},
) => ({
  verifier: {
    name,
    version: '1',
    codeHash: `h-${name}`,
    verify: typeof verify === 'number' ? async () => ({ outcome: 'score' as const, score: verify }) : verify,
  },
  ...over,
})
const unparsable = async (): Promise<Verdict> => ({ outcome: 'unparsable', score: -1, detail: 'no box' })
const { signal } = new AbortController()
const make = (parts: CompositePart[], length?: { free: number; full: number; most: number }) =>
  composite({ name: 'all', version: '1', parts, length, clock: { now: () => 7 } })

test('sums by weight and keeps every part', async () => {
  const verdict = await make([part('a', 0.5, { weight: 2 }), part('b', unparsable, { weight: 0.25 })]).verify(
    rollout(),
    signal,
  )
  expect(verdict).toEqual({
    outcome: 'score',
    score: 0.75,
    detail: { sum: 0.75, lengthPenalty: 0 },
    components: [
      { verifier: 'a', version: '1', codeHash: 'h-a', outcome: 'score', score: 0.5, weight: 2, latencyMs: 0 },
      {
        verifier: 'b',
        version: '1',
        codeHash: 'h-b',
        outcome: 'unparsable',
        score: -1,
        weight: 0.25,
        latencyMs: 0,
        detail: 'no box',
      },
    ],
  })
})

test('a gate that is not reached decides; one that is reached does not', async () => {
  const gated = (score: Verifier['verify'] | number) =>
    make([part('quality', 3), part('format', score, { weight: 0, gate: { atLeast: 1, otherwise: -2 } })], {
      free: 0,
      full: 1,
      most: 1,
    })
  expect(await gated(1).verify(rollout(0), signal)).toMatchObject({ outcome: 'score', score: 3 })
  const shut = await gated(0.99).verify(rollout(), signal)
  expect(shut).toMatchObject({ outcome: 'score', score: -2, detail: { gate: 'format' } })
  expect(shut).toMatchObject({ components: [{ score: 3 }, { score: 0.99 }] })
  expect(await gated(unparsable).verify(rollout(), signal)).toMatchObject({
    outcome: 'unparsable',
    score: -2,
  })
})

test('is unparsable where every part is', async () => {
  expect(await make([part('a', unparsable), part('b', unparsable)]).verify(rollout(), signal)).toMatchObject({
    outcome: 'unparsable',
    score: -2,
  })
})

test.each([
  [0, 0],
  [100, 0],
  [150, 0.25],
  [200, 0.5],
  [900, 0.5],
])('of %d tokens %d is taken off', async (tokens, penalty) => {
  const verdict = await make([part('a', 1)], { free: 100, full: 200, most: 0.5 }).verify(
    rollout(tokens),
    signal,
  )
  expect(verdict).toMatchObject({ score: 1 - penalty, detail: { sum: 1, lengthPenalty: penalty } })
})

describe('the error of a part is the error of the whole', () => {
  const outage: Verdict = { outcome: 'failed', code: 'BUSY', message: 'try later', retryable: true }
  test.each([
    ['failed', async () => outage, 'BUSY', true],
    ['thrown', () => Promise.reject(new Error('boom')), 'VERIFIER_FAILED', true],
    [
      'thrown for good',
      () => Promise.reject(new CascadeError('CONFIG_INVALID', 'no key')),
      'CONFIG_INVALID',
      false,
    ],
    ['not finite', async () => ({ outcome: 'score', score: Number.NaN }), 'NUMERIC', true],
  ] as [string, Verifier['verify'], string, boolean][])('%s', async (_, verify, code, retryable) => {
    const stopped: boolean[] = []
    const slow: Verifier['verify'] = (_r, s) =>
      new Promise((_resolve, reject) => {
        s.addEventListener('abort', () => {
          stopped.push(true)
          reject(s.reason)
        })
      })
    const verdict = await make([part('slow', slow), part('bad', verify, { weight: 0 })]).verify(
      rollout(),
      signal,
    )
    expect(verdict).toMatchObject({
      outcome: 'failed',
      code,
      retryable,
      message: expect.stringContaining('verifier all: part bad'),
    })
    expect(verdict).not.toHaveProperty('score')
    expect(stopped).toEqual([true])
  })
})

test('its hash changes with weights, gates, penalty and the code of each part', () => {
  const hashes = [
    make([part('a', 1)]),
    make([part('a', 1, { weight: 2 })]),
    make([part('a', 1, { gate: { atLeast: 1, otherwise: 0 } })]),
    make([part('a', 1)], { free: 0, full: 1, most: 1 }),
    make([part('b', 1)]),
    make([part('a', 1), part('b', 1)]),
  ].map((v) => v.codeHash)
  expect(new Set(hashes).size).toBe(hashes.length)
  expect(make([part('a', 1)]).codeHash).toBe(hashes[0])
})

test.each([
  ['parts: expected at least one, got none', [], undefined],
  ['parts[0].weight: expected a finite number, got NaN', [part('a', 1, { weight: Number.NaN })], undefined],
  [
    'parts[0].otherwise: expected a finite number',
    [part('a', 1, { gate: { atLeast: 0, otherwise: Number.NaN } })],
    undefined,
  ],
  ['length: expected 0 <= free < full', [part('a', 1)], { free: 5, full: 5, most: 1 }],
] as [string, CompositePart[], { free: number; full: number; most: number } | undefined][])(
  'refuses: %s',
  (message, parts, length) => {
    expect(() => make(parts, length)).toThrow(message)
  },
)
