import { concat, from, lastValueFrom, NEVER, type Observable, of, Subject, throwError, toArray } from 'rxjs'
import { describe, expect, test } from 'vitest'
import { createCredit } from '../../streams/credit.ts'
import { type GenerateOptions, generate } from '../../streams/generate.ts'
import type { Append, Policy, Sample } from '../../streams/ports.ts'
import {
  CascadeError,
  type DeadLetter,
  type Prompt,
  prompts,
  type Reward,
  type Rollout,
} from '../../topics/index.ts'
import { envelope, marbles, Probe, prompt, turns, when } from './helpers.ts'

const sample = (index: number, over: Partial<Sample> = {}): Sample => ({
  index,
  tokens: Int32Array.of(4, 5),
  logprobs: Float32Array.of(-0.5, -1),
  finishReason: 'stop',
  text: 'de',
  generateMs: 12,
  ...over,
})
const whole = () => of(sample(1), sample(0))
const policy = (over: Partial<Policy> = {}): Policy => ({
  version: 3,
  generate: whole,
  ready: () => Promise.resolve(),
  load: () => Promise.resolve(),
  ...over,
})
const roomy = () => createCredit({ records: 100, bytes: 1 << 20 })
const options = (over: Partial<GenerateOptions> = {}): GenerateOptions => ({
  concurrency: 2,
  credit: roomy(),
  clock: { now: () => 1500 },
  ...over,
})
const delivery = (offset = 0, over: Partial<Prompt> = {}) =>
  new Probe(envelope('prompts.math', offset, prompt(over)), offset)
const run = async (p: Policy, o = options(), ...deliveries: ReturnType<typeof delivery>[]) =>
  lastValueFrom(from(deliveries.length ? deliveries : [delivery()]).pipe(generate(p, o), toArray()))
const recordsOf = (append: readonly Append[]) =>
  append.map((a) => ({ topic: a.topic.name, value: a.topic.decode(a.topic.encode(a.value)) }))

describe('in virtual time', () => {
  const at = (offset: number) => expect.objectContaining({ positions: [{ group: 'g', topic: 't', offset }] })

  test('groups run side by side up to the concurrency and finish in any order', () => {
    marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
      const source = hot('(abc)|', {
        a: delivery(0),
        b: delivery(1, { groupId: 'g2' }),
        c: delivery(2, { groupId: 'g3' }),
      })
      const samples = { x: sample(0), y: sample(1) }
      const work = { g1: cold('x----y|', samples), g2: cold('x-y|', samples), g3: cold('--x-y|', samples) }
      const p = policy({
        ready: () => when(cold('(r|)', { r: undefined })),
        generate: (g) => work[g.groupId as keyof typeof work],
      })
      expectObservable(source.pipe(generate(p, options()))).toBe('---b--a-(c|)', {
        a: at(0),
        b: at(1),
        c: at(2),
      })
      expectSubscriptions(source.subscriptions).toBe('^----!')
      expectSubscriptions(work.g1.subscriptions).toBe('^-----!')
      expectSubscriptions(work.g2.subscriptions).toBe('^--!')
      expectSubscriptions(work.g3.subscriptions).toBe('---^----!')
    })
  })

  test('never, empty, error, early unsubscribe', () => {
    marbles(({ cold, hot, expectObservable, expectSubscriptions, flush }) => {
      const work = cold<Sample>('------')
      const credit = roomy()
      const p = policy({ ready: () => when(of(undefined)), generate: () => work })
      const op = generate(p, options({ credit }))
      expectObservable(cold<ReturnType<typeof delivery>>('-').pipe(op)).toBe('-')
      expectObservable(cold<ReturnType<typeof delivery>>('--|').pipe(op)).toBe('--|')
      expectObservable(cold('a-#', { a: delivery() }).pipe(op)).toBe('--#')
      const source = hot('-a--', { a: delivery() })
      expectObservable(source.pipe(op), '^--!').toBe('-')
      flush()
      expectSubscriptions(source.subscriptions).toBe('^--!')
      expectSubscriptions(work.subscriptions).toBe(['^-!', '-^-!'])
      expect(credit.inUse).toEqual({ records: 0, bytes: 0 })
    })
  })
})

test('fills every field of a rollout and settles the prompt with all of them', async () => {
  const [out] = await run(
    policy(),
    options(),
    delivery(7, { traceId: 't', messages: [{ role: 'user', content: 'abc' }] }),
  )
  expect(out!.positions).toEqual([{ group: 'g', topic: 't', offset: 7 }])
  const records = recordsOf(out!.value)
  expect(records.map((r) => r.topic)).toEqual(['rollouts.math', 'rollouts.math'])
  const { seed: _, ...identity } = prompt({ traceId: 't', messages: [{ role: 'user', content: 'abc' }] })
  expect(records[1]!.value).toEqual({
    ...identity,
    id: 'g1:1',
    index: 1,
    responseTokens: Int32Array.of(4, 5),
    responseLogprobs: Float32Array.of(-0.5, -1),
    logprobsMode: 'processed',
    lossMask: Uint8Array.of(1, 1),
    versionSpans: [{ version: 3, start: 0, end: 2 }],
    finishReason: 'stop',
    status: 'completed',
    responseText: 'de',
    timings: { queued: 500, generate: 12 },
  })
})

test.each([
  ['stop', 'completed'],
  ['tool_calls', 'completed'],
  ['length', 'truncated'],
  ['abort', 'aborted'],
] as const)('finish reason %s means status %s', async (finishReason, status) => {
  const [out] = await run(policy({ generate: () => of(sample(0, { finishReason }), sample(1)) }))
  expect((out!.value[0]!.value as Rollout).status).toBe(status)
})

test('an empty response is a rollout without spans', async () => {
  const empty = { tokens: new Int32Array(), logprobs: new Float32Array(), text: '' }
  const [out] = await run(policy({ generate: () => of(sample(0, empty), sample(1)) }))
  expect(recordsOf(out!.value)[0]!.value).toMatchObject({ versionSpans: [], responseText: '' })
})

test('starts only with the stamped version loaded', async () => {
  const loaded = new Subject<void>()
  const asked: number[] = []
  let generated = 0
  const p = policy({
    ready(version) {
      asked.push(version)
      return lastValueFrom(loaded, { defaultValue: undefined })
    },
    generate() {
      generated += 1
      return whole()
    },
  })
  const done = run(p)
  await turns()
  expect([asked, generated]).toEqual([[3], 0])
  loaded.complete()
  await done
  expect(generated).toBe(1)
})

describe('credit', () => {
  const bytesOf = (tokens: number) => (tokens + 2 * 3) * 12

  test('is reserved for the longest group before it starts, and shrinks to what it became', async () => {
    const credit = roomy()
    const seen: number[] = []
    const p = policy({
      generate() {
        seen.push(credit.inUse.bytes)
        return whole()
      },
    })
    const input = delivery()
    const [out] = await run(p, options({ credit }), input)
    expect(seen).toEqual([bytesOf(2 * 8)])
    expect(credit.inUse).toEqual({ records: 2, bytes: bytesOf(4) })
    expect(out!.bytes).toBe(input.bytes + bytesOf(4))
    out!.release()
    expect(credit.inUse).toEqual({ records: 0, bytes: 0 })
    expect(input.released).toBe(1)
  })

  test('a group waits until what was finished before it is written', async () => {
    const credit = createCredit({ records: 100, bytes: bytesOf(16) + 1 })
    const out: { release(): void }[] = []
    const subscription = concat(of(delivery(0), delivery(1, { groupId: 'g2' })), NEVER)
      .pipe(generate(policy(), options({ credit })))
      .subscribe((d) => out.push(d))
    await turns()
    expect(out).toHaveLength(1)
    out[0]!.release()
    await turns()
    expect(out).toHaveLength(2)
    expect(credit.peak.bytes).toBeLessThanOrEqual(credit.limit.bytes)
    subscription.unsubscribe()
    expect(credit.inUse).toEqual({ records: 0, bytes: 0 })
  })
})

describe('a policy that fails', () => {
  const failing = (times: number, error: unknown): [Policy, () => number] => {
    let tries = 0
    return [
      policy({
        generate(): Observable<Sample> {
          tries += 1
          return tries <= times ? throwError(() => error) : whole()
        },
      }),
      () => tries,
    ]
  }

  test('is tried again where that may help', async () => {
    const [p, tries] = failing(2, new CascadeError('POLICY_FAILED', 'busy', { retryable: true }))
    const [out] = await run(p)
    expect(out!.value.map((a) => a.topic.name)).toEqual(['rollouts.math', 'rollouts.math'])
    expect(tries()).toBe(3)
  })

  test.each([
    ['retryable', new CascadeError('POLICY_FAILED', 'busy', { retryable: true }), 'POLICY_FAILED', 3],
    ['final', new CascadeError('POLICY_VERSION', 'past'), 'POLICY_VERSION', 1],
    ['of unknown origin', new Error('what'), 'POLICY_FAILED', 1],
  ])(
    'in the end, %s: every member is lost, with the dead letter, in one delivery',
    async (_, error, code, attempts) => {
      const [p] = failing(9, error)
      const input = delivery(7)
      const [out] = await run(p, options(), input)
      expect(out!.positions).toBe(input.positions)
      const records = recordsOf(out!.value)
      expect(records.map((r) => r.topic)).toEqual(['rewards.math', 'rewards.math', 'prompts.math.dlq'])
      expect(records[1]!.value as Reward).toMatchObject({
        id: 'g1:1',
        kind: 'member-lost',
        reason: code,
        rewards: [],
        attempts,
      })
      expect(records[1]!.value).not.toHaveProperty('score')
      const letter = records[2]!.value as DeadLetter
      expect(letter).toMatchObject({ id: 'generate:prompts.math:7', code, attempts, message: error.message })
      expect(prompts('math').decode(letter.raw)).toEqual(prompt())
    },
  )

  test('because its engine does, ends the flow: no prompt is to blame, nothing is written off', async () => {
    const [p] = failing(9, new CascadeError('ENGINE_FAILED', 'out of memory'))
    await expect(run(p)).rejects.toMatchObject({ code: 'ENGINE_FAILED' })
  })

  test.each([
    ['too few', of(sample(0)), 'group g1: expected 2 samples, got 1', 'POLICY_FAILED'],
    [
      'too many',
      of(sample(0), sample(1), sample(2), sample(3)),
      'group g1: expected 2 samples, got more than 2',
      'POLICY_FAILED',
    ],
    [
      'a member twice',
      of(sample(0), sample(0)),
      'group g1: expected each sample index below 2 once, got 0',
      'POLICY_FAILED',
    ],
    [
      'lengths that differ',
      of(sample(0), sample(1, { logprobs: Float32Array.of(-1) })),
      'group g1: sample 1: expected 2 log-probabilities, one a token, got 1',
      'POLICY_FAILED',
    ],
    [
      'not a number',
      of(sample(0), sample(1, { logprobs: Float32Array.of(-1, Number.NaN) })),
      'group g1: sample 1: expected finite log-probabilities, got NaN at token 1',
      'NUMERIC',
    ],
  ])('%s: the error names the group', async (_, samples, message, code) => {
    const [out] = await run(policy({ generate: () => samples }))
    expect(out!.value.at(-1)!.value).toMatchObject({ message, code })
  })

  test('other groups go on', async () => {
    const p = policy({
      generate: (g) => (g.groupId === 'g1' ? throwError(() => new Error('x')) : whole()),
    })
    const out = await run(p, options(), delivery(0), delivery(1, { groupId: 'g2' }))
    expect(out.map((d) => d.value[0]!.topic.name).sort()).toEqual(['rewards.math', 'rollouts.math'])
  })
})

test('refuses an impossible concurrency', () => {
  expect(() => generate(policy(), options({ concurrency: Number.POSITIVE_INFINITY }))).toThrow(
    'generate: expected a concurrency of at least 1, got Infinity',
  )
})
