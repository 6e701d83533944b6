import { asyncScheduler, from, lastValueFrom, of, Subject, toArray, VirtualTimeScheduler } from 'rxjs'
import type { RunHelpers } from 'rxjs/testing'
import { describe, expect, test } from 'vitest'
import { hashRollout } from '../../streams/hash-rollout.ts'
import type { Append, Verdict, VerdictComponent, Verifier } from '../../streams/ports.ts'
import { pinsOf } from '../../streams/verifier-pins.ts'
import { type Verifiers, type VerifyOptions, verify } from '../../streams/verify.ts'
import { CascadeError, type DeadLetter, type Reward, type Rollout, rollouts } from '../../topics/index.ts'
import { envelope, marbles, Probe, reward, rollout, turns, when } from './helpers.ts'

const score = (n: number): Verdict => ({ outcome: 'score', score: n })
const verifier = (verify: Verifier['verify'], version = '1'): Verifier => ({
  name: 'exact',
  version,
  codeHash: `h${version}`,
  verify,
})
const only = (v: Verifier): Verifiers => ({ current: () => v, pinned: () => v })
const options = (over: Partial<VerifyOptions> = {}): VerifyOptions => {
  let t = 0
  return {
    concurrency: 2,
    timeoutMs: 1000,
    scheduler: asyncScheduler,
    clock: {
      now() {
        t += 5
        return t
      },
    },
    ...over,
  }
}
const delivery = (offset = 0, over: Partial<Rollout> = {}) =>
  new Probe(envelope('rollouts.math', offset, rollout(over)), offset)
const run = (v: Verifiers, o = options(), ...deliveries: ReturnType<typeof delivery>[]) =>
  lastValueFrom(from(deliveries.length ? deliveries : [delivery()]).pipe(verify(v, o), toArray()))
const recordsOf = (append: readonly Append[]) =>
  append.map((a) => ({ topic: a.topic.name, value: a.topic.decode(a.topic.encode(a.value)) }))
const rewardOf = (append: readonly Append[]) => append[0]!.value as Reward

describe('in virtual time', () => {
  const at = (offset: number) => expect.objectContaining({ positions: [{ group: 'g', topic: 't', offset }] })
  const virtual = (helpers: RunHelpers, answers: string[]) => {
    const calls = answers.map((a) => helpers.cold(a, { v: score(1) }, new Error('broken')))
    let next = 0
    const v = only(
      verifier(() => {
        next += 1
        return when(calls[next - 1]!)
      }),
    )
    return { calls, v }
  }

  test('rollouts are judged side by side and finish in any order', () => {
    marbles((helpers) => {
      const { hot, expectObservable, expectSubscriptions } = helpers
      const { calls, v } = virtual(helpers, ['-----(v|)', '--(v|)', '--(v|)'])
      const source = hot('(abc)|', {
        a: delivery(0),
        b: delivery(1, { index: 1 }),
        c: delivery(2, { groupId: 'g2' }),
      })
      expectObservable(source.pipe(verify(v, options()))).toBe('--b-c(a|)', { a: at(0), b: at(1), c: at(2) })
      expectSubscriptions(source.subscriptions).toBe('^----!')
      expectSubscriptions(calls[2]!.subscriptions).toBe('--^-!')
    })
  })

  test('one that hangs is aborted in time, tried again, and lost in the end', () => {
    marbles((helpers) => {
      const { hot, expectObservable, flush } = helpers
      const { v } = virtual(helpers, ['-', '-', '-----v'])
      const signals: AbortSignal[] = []
      const watched: Verifiers = only(
        verifier((r, signal) => {
          signals.push(signal)
          return v.current('exact').verify(r, signal)
        }),
      )
      const source = hot('a--', { a: delivery() })
      const op = verify(watched, options({ timeoutMs: 3, attempts: 2 }))
      expectObservable(source.pipe(op)).toBe('------x', { x: at(0) })
      flush()
      expect(signals.map((s) => s.aborted)).toEqual([true, true])
    })
  })

  test('never, empty, error, early unsubscribe', () => {
    marbles((helpers) => {
      const { cold, hot, expectObservable, expectSubscriptions, flush } = helpers
      const signals: AbortSignal[] = []
      const v = only(
        verifier((_, signal) => {
          signals.push(signal)
          return when(cold<Verdict>('-'))
        }),
      )
      const op = () => verify(v, options())
      expectObservable(cold<ReturnType<typeof delivery>>('-').pipe(op())).toBe('-')
      expectObservable(cold<ReturnType<typeof delivery>>('--|').pipe(op())).toBe('--|')
      expectObservable(cold<ReturnType<typeof delivery>>('--#').pipe(op())).toBe('--#')
      const source = hot('a--', { a: delivery() })
      expectObservable(source.pipe(op()), '^-!').toBe('-')
      flush()
      expectSubscriptions(source.subscriptions).toBe('^-!')
      expect(signals.map((s) => s.aborted)).toEqual([true])
    })
  })
})

test('a reward names its verifier, version and code, and the rollout that it is of', async () => {
  const input = delivery(7, { status: 'truncated', traceId: 't' })
  const [out] = await run(
    only(verifier(async () => ({ ...score(0.5), detail: { why: 'half' } }))),
    options(),
    input,
  )
  expect(out!.positions).toBe(input.positions)
  const { rewards: _r, verifier: _v, ...rest } = { ...reward({ traceId: 't' }), verifier: '' }
  expect(recordsOf(out!.value)).toEqual([
    {
      topic: 'rewards.math',
      value: {
        ...rest,
        score: 0.5,
        rewards: [
          {
            verifier: 'exact',
            version: '1',
            codeHash: 'h1',
            status: 'ok',
            score: 0.5,
            weight: 1,
            latencyMs: 5,
            detail: { why: 'half' },
          },
        ],
        rolloutOffset: 7,
        rolloutHash: hashRollout(rollout()),
        truncated: true,
      },
    },
  ])
  out!.release()
  expect(input.released).toBe(1)
})

test('an unparsable answer has a score and says so', async () => {
  const [out] = await run(only(verifier(async () => ({ outcome: 'unparsable', score: 0 }))))
  expect(rewardOf(out!.value)).toMatchObject({
    kind: 'reward',
    score: 0,
    rewards: [{ status: 'unparsable', score: 0 }],
  })
})

describe('a verdict made of others', () => {
  const part = {
    verifier: 'a',
    version: '3',
    codeHash: 'ha',
    outcome: 'score',
    score: 0.5,
    weight: 2,
  } as const
  const made = (components: VerdictComponent[]): Verdict => ({ ...score(1), components }) as Verdict

  test('keeps each behind its own', async () => {
    const unparsable = { ...part, outcome: 'unparsable', latencyMs: 3, detail: { why: 'no box' } } as const
    const [out] = await run(only(verifier(async () => made([part, unparsable]))))
    const value = recordsOf(out!.value)[0]!.value as Reward
    expect(value.score).toBe(1)
    const kept = { verifier: 'a', version: '3', codeHash: 'ha', score: 0.5, weight: 2 }
    expect(value.rewards).toEqual([
      { verifier: 'exact', version: '1', codeHash: 'h1', status: 'ok', score: 1, weight: 1, latencyMs: 5 },
      { ...kept, status: 'ok', latencyMs: 0 },
      { ...kept, status: 'unparsable', latencyMs: 3, detail: { why: 'no box' } },
    ])
  })

  test('is pinned by its own version, not by that of a part', async () => {
    const [out] = await run(only(verifier(async () => made([part]))))
    expect(pinsOf([rewardOf(out!.value)]).get('g1')).toMatchObject({ version: '1', codeHash: 'h1' })
  })

  test.each([{ score: Number.NaN }, { weight: Number.POSITIVE_INFINITY }])(
    'is an error with %o',
    async (over) => {
      const [out] = await run(only(verifier(async () => made([{ ...part, ...over }]))))
      expect(rewardOf(out!.value)).toMatchObject({ kind: 'member-lost', reason: 'NUMERIC' })
    },
  )
})

describe('an error is not a zero', () => {
  const failed = (retryable: boolean): Verdict => ({
    outcome: 'failed',
    code: 'SANDBOX_OOM',
    message: 'no memory',
    retryable,
  })

  test.each([
    ['failed', async () => failed(true), 'SANDBOX_OOM', 3],
    ['failed for good', async () => failed(false), 'SANDBOX_OOM', 1],
    ['thrown', () => Promise.reject(new Error('boom')), 'VERIFIER_FAILED', 3],
    [
      'thrown at once',
      () => {
        throw new TypeError('boom')
      },
      'VERIFIER_FAILED',
      3,
    ],
    [
      'thrown for good',
      () => Promise.reject(new CascadeError('CONFIG_INVALID', 'no key')),
      'CONFIG_INVALID',
      1,
    ],
    ['not a number', async () => score(Number.NaN), 'NUMERIC', 3],
    ['infinite', async () => score(Number.POSITIVE_INFINITY), 'NUMERIC', 3],
  ] as [string, Verifier['verify'], string, number][])(
    '%s: lost with its reason and dead letter, in one delivery',
    async (_, judge, code, attempts) => {
      let tries = 0
      const counting = verifier((r, s) => {
        tries += 1
        return judge(r, s)
      })
      const [out] = await run(only(counting), options(), delivery(7))
      const [lost, letter] = recordsOf(out!.value)
      expect(lost).toMatchObject({
        topic: 'rewards.math',
        value: { kind: 'member-lost', reason: code, attempts },
      })
      expect(lost!.value).not.toHaveProperty('score')
      expect((lost!.value as Reward).rewards).toMatchObject([{ status: 'error', version: '1' }])
      expect((lost!.value as Reward).rewards[0]).not.toHaveProperty('score')
      expect(letter).toMatchObject({
        topic: 'rollouts.math.dlq',
        value: {
          id: 'verify:rollouts.math:7',
          code,
          attempts,
          message: expect.stringContaining('rollout g1:0'),
        },
      })
      expect(rollouts('math').decode((letter!.value as DeadLetter).raw)).toEqual(rollout())
      expect(tries).toBe(attempts)
    },
  )

  test('between its tries it waits, longer each time, by the random source', () => {
    const scheduler = new VirtualTimeScheduler()
    const at: number[] = []
    const failing = verifier(() => {
      at.push(scheduler.now())
      // A promise settles outside of virtual time.
      throw new Error('boom')
    })
    const draws = [0, 0.5, 0.25]
    const backoff = { baseMs: 100, maxMs: 300, random: () => draws.shift()! }
    const lost: unknown[] = []
    of(delivery(7))
      .pipe(verify(only(failing), options({ attempts: 4, backoff, scheduler })))
      .subscribe((out) => lost.push(rewardOf(out.value)))
    scheduler.flush()
    expect(at).toEqual([0, 50, 50 + 150, 50 + 150 + 187.5])
    expect(lost).toMatchObject([{ kind: 'member-lost', attempts: 4 }])
  })

  test('one that recovers is a reward that names its attempts', async () => {
    let tries = 0
    const flaky = verifier(async () => {
      tries += 1
      return tries < 3 ? failed(true) : score(1)
    })
    const [out] = await run(only(flaky))
    expect(recordsOf(out!.value)).toHaveLength(1)
    expect(rewardOf(out!.value)).toMatchObject({ kind: 'reward', score: 1, attempts: 3 })
  })

  test('a time-out has its own status', async () => {
    const hanging = only(verifier(() => new Promise(() => undefined)))
    const [out] = await run(hanging, options({ timeoutMs: 1, attempts: 1 }))
    expect(rewardOf(out!.value)).toMatchObject({
      kind: 'member-lost',
      reason: 'VERIFIER_TIMEOUT',
      rewards: [{ status: 'timeout' }],
    })
  })
})

describe('a group is scored by one verifier version', () => {
  const swapping = () => {
    const made = new Map(['1', '2'].map((v) => [v, verifier(async () => score(Number(v)), v)]))
    const state = { version: '1' }
    const verifiers: Verifiers = {
      current: () => made.get(state.version)!,
      pinned: (_, version, codeHash) => {
        const v = made.get(version)
        return v?.codeHash === codeHash ? v : undefined
      },
    }
    return { state, verifiers, made }
  }
  const versions = (out: { value: readonly Append[] }[]) =>
    out.map((d) => rewardOf(d.value).rewards[0]!.version)

  test('a swap takes effect between groups', async () => {
    const { state, verifiers } = swapping()
    const input = new Subject<ReturnType<typeof delivery>>()
    const done = lastValueFrom(input.pipe(verify(verifiers, options()), toArray()))
    input.next(delivery(0, { index: 0 }))
    await turns()
    state.version = '2'
    input.next(delivery(1, { groupId: 'g2' }))
    input.next(delivery(2, { index: 1 }))
    await turns()
    input.complete()
    expect(versions(await done)).toEqual(['1', '2', '1'])
  })

  test('a pin outlives an interruption, until the last verdict is written', async () => {
    const { state, verifiers } = swapping()
    const op = verify(verifiers, options({ maxGroups: 1 }))
    const both = () => from([delivery(0, { index: 0 }), delivery(1, { index: 1 })])
    const first = await lastValueFrom(both().pipe(op, toArray()))
    first[0]!.release()
    state.version = '2'
    const second = await lastValueFrom(both().pipe(op, toArray()))
    expect(versions(second)).toEqual(['1', '1'])
    second[1]!.release()
    expect(versions(await lastValueFrom(from([delivery(3, { groupId: 'g2' })]).pipe(op, toArray())))).toEqual(
      ['2'],
    )
  })

  test('is restored from committed rewards', async () => {
    const { state, verifiers } = swapping()
    state.version = '2'
    const committed = [
      reward({ index: 0, rewards: [{ ...reward().rewards[0]!, codeHash: 'h1' }] }),
      reward({ groupId: 'whole', index: 0 }),
      reward({ groupId: 'whole', index: 1 }),
    ]
    const pins = pinsOf(committed)
    expect([...pins.keys()]).toEqual(['g1'])
    const out = await run(
      verifiers,
      options({ pins }),
      delivery(1, { index: 1 }),
      delivery(2, { groupId: 'whole' }),
    )
    expect(versions(out).sort()).toEqual(['1', '2'])
  })

  test('a pinned version that is not loaded is an error, not another version', async () => {
    const { verifiers, made, state } = swapping()
    state.version = '2'
    made.delete('1')
    const pins = pinsOf([reward({ index: 0, rewards: [{ ...reward().rewards[0]!, codeHash: 'h1' }] })])
    const [out] = await run(verifiers, options({ pins }), delivery(1, { index: 1 }))
    expect(rewardOf(out!.value)).toMatchObject({
      kind: 'member-lost',
      reason: 'VERIFIER_FAILED',
      attempts: 1,
    })
  })

  test('refuses one open group more than its bound, and a verifier that nobody knows', async () => {
    const { verifiers } = swapping()
    const two = [delivery(0), delivery(1, { groupId: 'g2' })]
    await expect(run(verifiers, options({ maxGroups: 1 }), ...two)).rejects.toMatchObject({
      code: 'CREDIT_EXCEEDED',
    })
    const unknown: Verifiers = {
      ...verifiers,
      current(name) {
        throw new CascadeError('CONFIG_INVALID', `no verifier ${name}`)
      },
    }
    await expect(run(unknown)).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  })
})

test('refuses an impossible concurrency', () => {
  expect(() => verify(only(verifier(async () => score(1))), options({ concurrency: 0 }))).toThrow(
    'verify: expected a concurrency of at least 1, got 0',
  )
})
