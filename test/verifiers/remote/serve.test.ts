import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { CaseKind } from '../../../src/verifiers/case-kind.ts'
import {
  remote,
  type Served,
  type ServeOptions,
  servedKind,
  servedRule,
  serveVerifier,
  type VerifierServer,
  verdictType,
} from '../../../src/verifiers/remote/index.ts'
import { sum } from '../../../src/verifiers/sum.ts'
import type { Verdict } from '../../../streams/ports.ts'
import { CascadeError, type Rollout } from '../../../topics/index.ts'

const open: VerifierServer[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((server) => server.close()))
})
async function serve(served: Served | Served['judge'], options: ServeOptions = {}): Promise<VerifierServer> {
  const given =
    typeof served === 'function'
      ? { name: 'test', version: '1', judge: served, async [Symbol.asyncDispose]() {} }
      : served
  const server = await serveVerifier(given, { graceMs: 200, ...options })
  open.push(server)
  return server
}
const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })
const right = { prompt: '1+1', response: '1+1=2', label: '2' }
const wrong = { ...right, response: '1+1=3' }

describe('a rule', () => {
  test('answers a bare number, as slime expects it, or the verdict', async () => {
    const { url } = await serve(servedRule(sum()))
    const bare = await post(url, right)
    expect(bare.headers.get('content-type')).toBe('application/json')
    expect(await bare.text()).toBe('1')
    expect(await (await post(url, wrong)).json()).toBe(0)
    const verdict = { outcome: 'score', score: 1, detail: { answer: '2' } }
    expect(await (await post(`${url}/verdict`, right)).json()).toEqual(verdict)
    expect(await (await post(url, right, { accept: verdictType })).json()).toEqual(verdict)
  })

  test('answers arrays in order', async () => {
    const { url } = await serve(servedRule(sum()))
    expect(await (await post(url, [right, wrong, right])).json()).toEqual([1, 0, 1])
    expect(await (await post(url, [])).json()).toEqual([])
    expect(await (await post(`${url}/verdict`, [wrong])).json()).toMatchObject([{ score: 0 }])
  })

  test('an error is a status, never a number', async () => {
    const { url } = await serve(servedRule(sum()))
    const answer = await post(url, [right, { ...right, label: 'two' }])
    expect(answer.status).toBe(422)
    expect(await answer.json()).toMatchObject({ outcome: 'failed', code: 'VERIFIER_FAILED' })
    const whole = await post(`${url}/verdict`, { ...right, label: 'two' })
    expect([whole.status, await whole.json()]).toMatchObject([200, { outcome: 'failed' }])
  })
})

describe('an array', () => {
  const texts = (n: number) => Array.from({ length: n }, (_, i) => ({ response: String(i) }))

  test('is judged several at a time, and answered in order', async () => {
    let [inWork, most] = [0, 0]
    const { url } = await serve(
      async ({ response }) => {
        most = Math.max(most, ++inWork)
        await wait(Number(response) % 3)
        inWork -= 1
        return { outcome: 'score', score: Number(response) }
      },
      { window: 4 },
    )
    expect(await (await post(url, texts(25))).json()).toEqual(Array.from({ length: 25 }, (_, i) => i))
    expect(most).toBe(4)
  })

  test('an error or a hang in it is that of one', async () => {
    const judge: Served['judge'] = async ({ response }) => {
      if (response === '1') throw new Error('boom')
      if (response === '3') return new Promise<Verdict>(() => undefined)
      return { outcome: 'score', score: 1 }
    }
    const { url } = await serve(judge, { window: 2, timeoutMs: 50 })
    const score = { outcome: 'score', score: 1 }
    const answer = await post(`${url}/verdict`, texts(6))
    expect([answer.status, await answer.json()]).toEqual([
      200,
      [
        score,
        expect.objectContaining({ outcome: 'failed', code: 'VERIFIER_FAILED' }),
        score,
        expect.objectContaining({ outcome: 'failed', code: 'VERIFIER_TIMEOUT' }),
        score,
        score,
      ],
    ])
  })

  test('with a request that cannot be judged is refused, and the others are called off', async () => {
    const signals: AbortSignal[] = []
    const judge: Served['judge'] = async ({ response }, signal) => {
      signals.push(signal)
      if (response === '1') throw new CascadeError('RECORD_INVALID', 'no case')
      return new Promise<Verdict>(() => undefined)
    }
    const { url } = await serve(judge, { window: 3 })
    const answer = await post(url, texts(9))
    expect([answer.status, await answer.json()]).toEqual([400, { error: 'no case' }])
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true, true])
  })
})

describe('a kind of cases', () => {
  const kind: CaseKind<{ id: string; response: string; answer: string; prompt?: string }> = {
    name: 'echo',
    version: '2',
    schema: z.strictObject({ id: z.string(), response: z.string(), answer: z.string() }),
    work: 'pure',
    open: async () => ({
      judge: ({ id, response, answer }) => ({
        outcome: 'score',
        score: response === answer ? 1 : 0,
        detail: { id },
      }),
      async [Symbol.asyncDispose]() {},
    }),
  }
  const options = { jobs: 1, flags: {} }

  test.each([
    ['an object', { prompt: 'p', response: 'x', label: { answer: 'x' } }],
    ['an object as text', { response: 'x', label: '{"answer": "x"}' }],
    ['fields of the request', { response: 'x', answer: 'x', label: null }],
  ])('its label is %s', async (_, body) => {
    const { url } = await serve(await servedKind(kind, options))
    expect(await (await post(url, body)).json()).toBe(1)
  })

  test('its label is one field, its prompt goes along where it is asked for', async () => {
    const schema = z.strictObject({
      id: z.string(),
      response: z.string(),
      answer: z.string(),
      prompt: z.string(),
    })
    const { url } = await serve(await servedKind({ ...kind, schema }, { ...options, labelField: 'answer' }))
    expect(await (await post(url, { id: 4, prompt: 'p', response: 'x', label: 'x' })).json()).toBe(1)
    const refused = await post(url, { response: 'x', label: 'x' })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: expect.stringContaining('echo case: prompt') })
  })

  test.each([
    ['a text', '3'],
    ['a number, as a ground truth may be', 3],
    ['an object with that field', { answer: '3' }],
  ])('its label is %s', async (_, label) => {
    const schema = z.strictObject({ id: z.string(), response: z.string(), answer: z.string() })
    const { url } = await serve(await servedKind({ ...kind, schema }, { ...options, labelField: 'answer' }))
    const answered = await post(url, { response: '3', label })
    expect([answered.status, await answered.json()]).toEqual([200, 1])
  })
})

describe('refuses', () => {
  test.each([
    ['what is no JSON', '{', 400, 'expected JSON'],
    ['what is no request', { label: 1 }, 400, 'request 0: response'],
    ['a number', 5, 400, 'request 0'],
    ['too many', Array(9).fill(right), 413, 'at most 8 requests'],
    ['too much', { ...right, response: 'x'.repeat(3000) }, 413, 'at most 2000 bytes'],
  ])('%s', async (_, body, status, message) => {
    const { url } = await serve(servedRule(sum()), { maxBytes: 2000, maxBatch: 8 })
    const answer = await post(url, body)
    expect(answer.status).toBe(status)
    expect(await answer.json()).toMatchObject({ error: expect.stringContaining(message) })
    expect(await (await post(url, right)).json()).toBe(1)
  })

  test('an address that is taken', async () => {
    const { port } = await serve(servedRule(sum()))
    await expect(serve(servedRule(sum()), { port })).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })

  test('other paths and methods', async () => {
    const { url, port } = await serve(servedRule(sum()))
    const odd = connect(port, '127.0.0.1').end('GET // HTTP/1.0\r\n\r\n')
    expect(String((await odd.toArray())[0])).toContain('404')
    expect((await post(`${url}/other`, right)).status).toBe(404)
    expect((await fetch(url)).status).toBe(405)
  })
})

test.each([
  ['throws', () => Promise.reject(new Error('boom')), 503, 'VERIFIER_FAILED'],
  ['hangs', () => new Promise<Verdict>(() => undefined), 503, 'VERIFIER_TIMEOUT'],
  ['has no number', async () => ({ outcome: 'score', score: Number.NaN }), 422, 'NUMERIC'],
] as [string, Served['judge'], number, string][])('a verifier that %s', async (_, judge, status, code) => {
  const { url } = await serve(judge, { timeoutMs: 30 })
  const answer = await post(url, right)
  expect([answer.status, await answer.json()]).toMatchObject([status, { outcome: 'failed', code }])
  expect(answer.headers.get('retry-after')).toBe(status === 503 ? '1' : null)
})

describe('load and end', () => {
  /** Judges when told to. */
  const gate = () => {
    const waiting: ((verdict: Verdict) => void)[] = []
    const signals: AbortSignal[] = []
    const judge: Served['judge'] = (_, signal) => {
      signals.push(signal)
      return new Promise((resolve) => waiting.push(resolve))
    }
    const until = async (n: number) => {
      while (signals.length < n) await new Promise((resolve) => setImmediate(resolve))
    }
    return {
      judge,
      signals,
      until,
      finish: () => waiting.splice(0).forEach((w) => w({ outcome: 'score', score: 1 })),
    }
  }

  test('one too many is told to come again, and health says what is in work', async () => {
    const { judge, until, finish } = gate()
    const { url } = await serve(judge, { concurrency: 2 })
    const both = [post(url, right), post(url, right)]
    await until(2)
    expect(await (await fetch(`${url}/health`)).json()).toEqual({
      status: 'ok',
      verifier: 'test',
      version: '1',
      inFlight: 2,
    })
    const third = await post(url, right)
    expect([third.status, third.headers.get('retry-after')]).toEqual([503, '1'])
    finish()
    expect(await Promise.all((await Promise.all(both)).map((r) => r.json()))).toEqual([1, 1])
  })

  test('closing finishes what is in work and takes no more', async () => {
    const { judge, until, finish } = gate()
    const server = await serve(judge, { graceMs: 30_000 })
    const call = post(server.url, right)
    await until(1)
    const closed = server.close()
    finish()
    expect(await (await call).json()).toBe(1)
    await closed
    await expect(post(server.url, right)).rejects.toThrow()
  })

  test('closing aborts what does not end in time', async () => {
    const { judge, until, signals } = gate()
    const server = await serve(judge, { graceMs: 20 })
    const call = post(server.url, right).catch((error: unknown) => error)
    await until(1)
    await server.close()
    expect(signals[0]!.aborted).toBe(true)
    const end = await call
    expect(end instanceof Response ? end.status : end).toSatisfy(
      (e: unknown) => e === 503 || e instanceof Error,
    )
  })

  test('a client that hangs up cancels its judgement', async () => {
    const { judge, until, signals } = gate()
    const { url } = await serve(judge)
    const abort = new AbortController()
    const call = fetch(url, { method: 'POST', body: JSON.stringify(right), signal: abort.signal })
    await until(1)
    const cancelled = new Promise((resolve) => signals[0]!.addEventListener('abort', resolve))
    abort.abort()
    await expect(call).rejects.toThrow()
    await cancelled
  })
})

test('what goes through client and server is what the verifier says', async () => {
  let verdict: Verdict = { outcome: 'score', score: 0 }
  const { url } = await serve(async () => verdict)
  const detail = fc.option(fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer())), {
    nil: undefined,
  })
  const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => (x === 0 ? 0 : x))
  const judged = fc.record({ outcome: fc.constantFrom('score', 'unparsable'), score: number, detail })
  const failed = fc.record({
    outcome: fc.constant('failed' as const),
    code: fc.string(),
    message: fc.string(),
    retryable: fc.boolean(),
  })
  const client = remote({ url: `${url}/verdict`, attempts: 1 })
  const bare = remote({ url, attempts: 1 })
  await fc.assert(
    fc.asyncProperty(fc.oneof(judged, failed), fc.string({ unit: 'binary' }), async (given, responseText) => {
      verdict = given as Verdict
      const rollout = { promptText: '', responseText, groundTruth: undefined } as unknown as Rollout
      const { signal } = new AbortController()
      const expected = JSON.parse(JSON.stringify(given))
      expect(await client.verify(rollout, signal)).toEqual(expected)
      const short = await bare.verify(rollout, signal)
      if (given.outcome === 'failed')
        expect(short).toMatchObject({ outcome: 'failed', retryable: given.retryable })
      else expect(short).toEqual({ outcome: 'score', score: given.score })
    }),
    { numRuns: 60 },
  )
})
