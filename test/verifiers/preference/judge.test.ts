import { describe, expect, test } from 'vitest'
import { type JudgeOptions, llmJudge } from '../../../src/verifiers/preference/index.ts'
import type { Rollout } from '../../../topics/index.ts'
import { cut, hang, json, loopback, type Reply, status } from '../remote/loopback.ts'

const rollout = {
  promptText: 'Say hi',
  responseText: 'hi {criteria}',
  groundTruth: { word: 'hi' },
} as unknown as Rollout
const says = (content: string, tokens?: number) =>
  json({
    choices: [{ message: { role: 'assistant', content } }],
    ...(tokens === undefined ? {} : { usage: { total_tokens: tokens } }),
  })
const make = (url: string, over: Partial<JudgeOptions> = {}) =>
  llmJudge({
    url: `${url}v1`,
    model: 'm',
    criteria: 'Polite.',
    attempts: 3,
    backoffMs: 1,
    timeoutMs: 5000,
    ...over,
  })
const { signal } = new AbortController()

test('asks by criteria and reads the score, from 0 to 1', async () => {
  await using server = await loopback(says('{"reason": "short", "score": 5.5}'))
  const judge = make(server.url, { headers: { authorization: 'Bearer k' }, jsonMode: true })
  expect(await judge.verify(rollout, signal)).toEqual({
    outcome: 'score',
    score: 0.5,
    detail: { raw: 5.5, scale: [1, 10], reason: 'short', model: 'm' },
  })
  const [body] = server.bodies as { messages: { content: string }[] }[]
  expect(body).toMatchObject({
    model: 'm',
    temperature: 0,
    max_tokens: 1024,
    response_format: { type: 'json_object' },
  })
  expect(server.headers[0]).toMatchObject({ authorization: 'Bearer k' })
  const { content } = body!.messages[0]!
  for (const part of ['Polite.', 'Say hi', 'hi {criteria}', '{"word":"hi"}', 'from 1 to 10']) {
    expect(content).toContain(part)
  }
})

test.each([
  ['```json\n{"score": 10}\n```', 1],
  ['<think>{"score": 1}</think> So: {"score": 10, "parts": {"a": 1}}', 1],
  ['{"reason": "says {x}", "score": 1} That is all.', 0],
])('finds the score in %j', async (content, score) => {
  await using server = await loopback(says(content))
  expect(await make(server.url).verify(rollout, signal)).toMatchObject({ outcome: 'score', score })
})

describe('is never a zero', () => {
  const busy = status(429, '{"error": "slow down"}', { 'retry-after': '0' })
  test.each([
    ['429 for ever', [busy], 'VERIFIER_FAILED', true, 3],
    ['500', [status(500, '')], 'VERIFIER_FAILED', true, 3],
    ['connections that break', [cut], 'VERIFIER_FAILED', true, 3],
    ['a key that is refused', [status(401, 'no key')], 'VERIFIER_FAILED', false, 1],
    ['what is no JSON', [status(200, '{"choices": [')], 'VERIFIER_FAILED', false, 1],
    ['no completion', [json({ choices: [] })], 'VERIFIER_FAILED', false, 1],
    ['an answer without JSON', [says('I give it a 7.')], 'VERIFIER_FAILED', false, 1],
    ['an answer whose JSON is broken', [says('{"score": 7')], 'VERIFIER_FAILED', false, 1],
    ['a score in words', [says('{"score": "7"}')], 'VERIFIER_FAILED', false, 1],
    ['a score off the scale', [says('{"score": 0}')], 'VERIFIER_FAILED', false, 1],
    ['braces without end', [says('{'.repeat(100_000) + '}'.repeat(100_000))], 'VERIFIER_FAILED', false, 1],
  ] as [string, Reply[], string, boolean, number][])('%s', async (_, replies, code, retryable, tries) => {
    await using server = await loopback(...replies)
    const verdict = await make(server.url).verify(rollout, signal)
    expect(verdict).toMatchObject({ outcome: 'failed', code, retryable })
    expect(verdict).not.toHaveProperty('score')
    expect(server.bodies).toHaveLength(tries)
  })

  test('429 and then an answer', async () => {
    await using server = await loopback(busy, says('{"score": 10}', 40))
    const judge = make(server.url)
    expect(await judge.verify(rollout, signal)).toMatchObject({ score: 1 })
    expect(judge.spent).toEqual({ requests: 2, tokens: 40 })
  })

  test('silence', async () => {
    await using server = await loopback(hang)
    expect(await make(server.url, { timeoutMs: 20 }).verify(rollout, signal)).toMatchObject({
      outcome: 'failed',
      code: 'VERIFIER_TIMEOUT',
      retryable: true,
    })
    expect(server.bodies).toHaveLength(3)
  })

  test('silence that the caller ends', async () => {
    await using server = await loopback(hang)
    const abort = new AbortController()
    const call = make(server.url).verify(rollout, abort.signal)
    setTimeout(() => abort.abort(new Error('enough')), 30)
    await expect(call).rejects.toThrow('enough')
  })
})

describe('a budget', () => {
  test('of requests: each try counts', async () => {
    await using server = await loopback(status(503, '', { 'retry-after': '0' }))
    const judge = make(server.url, { budget: { requests: 2 } })
    const spent = { outcome: 'failed', code: 'VERIFIER_BUDGET', retryable: false }
    expect(await judge.verify(rollout, signal)).toMatchObject(spent)
    expect(await judge.verify(rollout, signal)).toMatchObject(spent)
    expect(server.bodies).toHaveLength(2)
  })

  test('of tokens: by use, where the endpoint tells it', async () => {
    await using server = await loopback(says('{"score": 10}', 600))
    const judge = make(server.url, { budget: { tokens: 2000 }, maxTokens: 1000 })
    const outcomes = []
    for (let i = 0; i < 3; i++) outcomes.push((await judge.verify(rollout, signal)).outcome)
    expect(outcomes).toEqual(['score', 'score', 'failed'])
    expect(judge.spent).toEqual({ requests: 2, tokens: 1200 })
  })

  test('of tokens: by estimate, where nothing is known', async () => {
    await using server = await loopback(hang)
    const judge = make(server.url, { timeoutMs: 10, attempts: 1, maxTokens: 1000, budget: { tokens: 2000 } })
    expect(await judge.verify(rollout, signal)).toMatchObject({ code: 'VERIFIER_TIMEOUT' })
    expect(await judge.verify(rollout, signal)).toMatchObject({ code: 'VERIFIER_BUDGET' })
  })
})

test('rates are kept by waiting, and the wait can be ended', async () => {
  await using server = await loopback(says('{"score": 10}', 5))
  let now = 0
  const clock = { now: () => now }
  const judge = make(server.url, { requestsPerMinute: 2, clock })
  const abort = new AbortController()
  const calls = [1, 2, 3].map(() => judge.verify(rollout, abort.signal))
  await Promise.all(calls.slice(0, 2))
  expect(server.bodies).toHaveLength(2)
  abort.abort(new Error('enough'))
  await expect(calls[2]).rejects.toThrow('enough')
  now = 120_000
  expect(await judge.verify(rollout, signal)).toMatchObject({ score: 1 })

  const fast = make(server.url, { tokensPerMinute: 60_000, maxTokens: 60_000 - 300 })
  await fast.verify(rollout, signal)
  const began = performance.now()
  // What the first call did not use has been given back.
  expect(await fast.verify(rollout, signal)).toMatchObject({ score: 1 })
  expect(performance.now() - began).toBeLessThan(2000)
})

test('refuses by name what cannot be, and hashes what decides a score', () => {
  const options = { url: 'http://a/v1', model: 'm', criteria: 'c' }
  for (const [over, field] of [
    [{ url: 'a' }, 'url'],
    [{ criteria: '' }, 'criteria'],
    [{ template: 'grade it' }, 'template'],
    [{ scale: [3, 3] }, 'scale'],
    [{ requestsPerMinute: 0 }, 'requestsPerMinute'],
  ] as [Partial<JudgeOptions>, string][]) {
    expect(() => llmJudge({ ...options, ...over })).toThrow(`judge: ${field}`)
  }
  const hash = (over: Partial<JudgeOptions>) => llmJudge({ ...options, ...over }).codeHash
  const decides = [
    {},
    { model: 'n' },
    { criteria: 'd' },
    { scale: [0, 1] },
    { temperature: 1 },
  ] as Partial<JudgeOptions>[]
  expect(new Set(decides.map(hash)).size).toBe(5)
  expect(hash({ headers: { authorization: 'x' }, budget: { requests: 1 }, timeoutMs: 1 })).toBe(hash({}))
})
