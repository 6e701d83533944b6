import { describe, expect, test } from 'vitest'
import { type RemoteOptions, remote } from '../../../src/verifiers/remote/index.ts'
import type { Rollout } from '../../../topics/index.ts'
import { cut, hang, json, loopback, type Reply, status } from './loopback.ts'

const rollout = { promptText: 'p', responseText: 'r', groundTruth: { a: 1 } } as unknown as Rollout
const ask = (url: string, over: Partial<RemoteOptions> = {}, signal = new AbortController().signal) =>
  remote({ url, attempts: 3, backoffMs: 1, timeoutMs: 5000, ...over }).verify(rollout, signal)

test.each([
  [0.25, { outcome: 'score', score: 0.25 }],
  [{ score: -1 }, { outcome: 'score', score: -1, detail: { score: -1 } }],
  [
    { reward: 2, why: 'good' },
    { outcome: 'score', score: 2, detail: { reward: 2, why: 'good' } },
  ],
  [
    { outcome: 'unparsable', score: -1 },
    { outcome: 'unparsable', score: -1 },
  ],
  [
    { outcome: 'failed', code: 'SANDBOX_OOM', message: 'no memory', retryable: true },
    { outcome: 'failed', code: 'SANDBOX_OOM', message: 'no memory', retryable: true },
  ],
])('the answer %j', async (body, expected) => {
  await using server = await loopback(json(body))
  expect(await ask(server.url, { headers: { authorization: 'Bearer k' } })).toEqual(expected)
  expect(server.bodies).toEqual([{ prompt: 'p', response: 'r', label: { a: 1 } }])
  expect(server.headers[0]).toMatchObject({ 'content-type': 'application/json', authorization: 'Bearer k' })
})

describe('an outage is tried again', () => {
  const busy = status(503, 'busy', { 'retry-after': '0' })
  test.each([
    ['that ends', [busy, cut, json(1)], { outcome: 'score', score: 1 }, 3],
    ['that stays', [status(500, 'broken')], { code: 'VERIFIER_FAILED', retryable: true }, 3],
    ['too many requests', [status(429, '')], { code: 'VERIFIER_FAILED', retryable: true }, 3],
    ['of connections', [cut], { code: 'VERIFIER_FAILED', retryable: true }, 3],
    ['asked to wait too long', [status(503, '', { 'retry-after': '3600' })], { retryable: true }, 1],
    [
      'and not what was wrongly asked',
      [status(400, 'bad')],
      { code: 'VERIFIER_FAILED', retryable: false },
      1,
    ],
    ['and not sent elsewhere', [status(302, '', { location: '/x' })], { retryable: false }, 1],
  ] as [string, Reply[], object, number][])('%s', async (_, replies, expected, tries) => {
    await using server = await loopback(...replies)
    const verdict = await ask(server.url)
    expect(verdict).toMatchObject(expected)
    if (verdict.outcome === 'failed') expect(verdict).not.toHaveProperty('score')
    expect(server.bodies).toHaveLength(tries)
  })

  test('after the wait that was asked for', async () => {
    await using server = await loopback(status(503, '', { 'retry-after': '0.2' }), json(1))
    const began = performance.now()
    expect(await ask(server.url)).toMatchObject({ score: 1 })
    expect(performance.now() - began).toBeGreaterThanOrEqual(190)
  })

  test('until a date', async () => {
    const past = new Date(Date.now() - 5000).toUTCString()
    await using server = await loopback(status(503, '', { 'retry-after': past }), json(1))
    expect(await ask(server.url, { backoffMs: 60_000 })).toMatchObject({ score: 1 })
  })

  test('a server that says nothing, and one that is not there', async () => {
    await using server = await loopback(hang)
    expect(await ask(server.url, { timeoutMs: 20, attempts: 2 })).toMatchObject({
      outcome: 'failed',
      code: 'VERIFIER_TIMEOUT',
      retryable: true,
    })
    const gone = await loopback(hang)
    await gone[Symbol.asyncDispose]()
    expect(await ask(gone.url)).toMatchObject({ outcome: 'failed', retryable: true })
  })
})

test.each([
  ['no JSON', status(200, '<html>')],
  ['nothing', status(200, '')],
  ['null', json(null)],
  ['a text', json('1')],
  ['a number too large', status(200, '1e999')],
  ['a score that is none', json({ score: 'high' })],
  ['a verdict without its score', json({ outcome: 'score' })],
  ['an error without a score and without a code', json({ outcome: 'failed', score: 0 })],
  ['more than can be', status(200, `"${'x'.repeat(5 * 2 ** 20)}"`)],
])('a malformed answer is an error for good: %s', async (_, reply) => {
  await using server = await loopback(reply)
  const verdict = await ask(server.url)
  expect(verdict).toMatchObject({ outcome: 'failed', code: 'VERIFIER_FAILED', retryable: false })
  expect(server.bodies).toHaveLength(1)
})

test('an abort ends the call and the waits between calls', async () => {
  await using server = await loopback(status(503, '', { 'retry-after': '30' }))
  const abort = new AbortController()
  const call = ask(server.url, {}, abort.signal)
  setTimeout(() => abort.abort(new Error('enough')), 50)
  await expect(call).rejects.toThrow('enough')
})

test('refuses what is no address, and hashes no secret', () => {
  expect(() => remote({ url: 'ftp://x' })).toThrow('remote verifier: url')
  const hash = (over: Partial<RemoteOptions>) => remote({ url: 'http://a', ...over }).codeHash
  expect(hash({ headers: { authorization: 'x' } })).toBe(hash({}))
  expect(hash({ version: '2' })).not.toBe(hash({}))
  expect(hash({ url: 'http://b' })).not.toBe(hash({}))
})
