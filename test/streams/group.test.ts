import fc from 'fast-check'
import { from, lastValueFrom, toArray } from 'rxjs'
import { expect, test } from 'vitest'
import { group } from '../../streams/group.ts'
import type { Append, Envelope } from '../../streams/ports.ts'
import { advantages, type GroupOutcome, type Reward } from '../../topics/index.ts'
import { envelope, marbles, Probe, reward } from './helpers.ts'

const options = {
  maxOpen: 4,
  advantages: () => ({ overlong: 'score', deviation: 'population', minSpread: 1e-6 }) as const,
}
const delivery = (offset: number, over: Partial<Reward>) =>
  new Probe(envelope('rewards.math', offset, reward(over)), offset)
const run = (deliveries: Iterable<Probe<Envelope<Reward>>>, o = options) =>
  lastValueFrom(from(deliveries).pipe(group(o), toArray()))
const outcomeOf = (append: readonly Append[]) => append[0]!.value as GroupOutcome

test('values and subscriptions', () => {
  marbles(({ cold, hot, expectObservable, expectSubscriptions }) => {
    const values = { a: delivery(0, { index: 1, score: 0 }), b: delivery(1, { index: 0 }) }
    const source = hot('a-b-|', values)
    const seen = source.pipe(group(options))
    const positions = [values.a, values.b].flatMap((d) => d.positions)
    expectObservable(seen).toBe('--x-|', { x: expect.objectContaining({ positions }) })
    expectObservable(seen, '^-!').toBe('--')
    expectSubscriptions(source.subscriptions).toBe(['^---!', '^-!'])
    expectObservable(cold<typeof values.a>('-').pipe(group(options))).toBe('-')
    expectObservable(cold<typeof values.a>('|').pipe(group(options))).toBe('|')
    expectObservable(cold('a-|', values).pipe(group(options))).toBe('--|')
    expectObservable(cold('a-#', values).pipe(group(options))).toBe('--#')
  })
})

test('a throwing callback is the error of the stream', () => {
  marbles(({ hot, expectObservable, expectSubscriptions }) => {
    const source = hot('a-b-|', { a: delivery(0, { index: 0 }), b: delivery(1, { index: 1 }) })
    const throwing = group({
      maxOpen: 1,
      advantages() {
        throw 'error'
      },
    })
    expectObservable(source.pipe(throwing)).toBe('--#')
    expectSubscriptions(source.subscriptions).toBe('^-!')
  })
})

test('one outcome a group, in its topic, with the verifier that scored it', async () => {
  const [out] = await run([delivery(0, { index: 1, score: 0 }), delivery(1, { index: 0, traceId: 't' })])
  const topic = advantages('math')
  expect(out!.value).toHaveLength(1)
  expect(out!.value[0]!.topic.name).toBe(topic.name)
  const outcome = topic.decode(topic.encode(outcomeOf(out!.value)))
  expect(outcome).toMatchObject({
    groupId: 'g1',
    outcome: 'kept',
    verifier: 'exact',
    verifierVersion: '1',
    admission: 0,
  })
  expect(outcome.members).toMatchObject([
    { rolloutId: 'g1:0', index: 0, reward: 1, advantage: 1, fate: 'trained' },
    { rolloutId: 'g1:1', index: 1, reward: 0, advantage: -1, fate: 'trained' },
  ])
})

test('a lost member is an error, and a group without survivors names no verifier', async () => {
  const lost = { kind: 'member-lost', reason: 'VERIFIER_FAILED' } as const
  const [out] = await run([delivery(0, { index: 0 }), delivery(1, { index: 1, ...lost })])
  expect(outcomeOf(out!.value)).toMatchObject({ outcome: 'lost', verifier: '', verifierVersion: '' })
  expect(outcomeOf(out!.value).members.map((m) => m.fate)).toEqual(['dropped', 'error'])
})

test('members give their credit back as they enter, the last one when the outcome is written', async () => {
  const [a, b] = [delivery(0, { index: 0 }), delivery(1, { index: 1 })]
  const [out] = await run([a, b])
  expect([a.released, b.released]).toEqual([1, 0])
  out!.release()
  expect([a.released, b.released]).toEqual([1, 1])
})

test.each([
  ['a member twice', { index: 0 }, 'expected member 0 once, got it twice'],
  ['an index beyond the group', { index: 2 }, 'expected a member index below 2, got 2'],
  ['another size', { index: 1, groupSize: 3 }, 'expected a group of 2, got one of 3 in member 1'],
  [
    'another verifier version',
    {
      index: 1,
      rewards: [
        { verifier: 'exact', version: '2', codeHash: 'h', status: 'ok', score: 1, weight: 1, latencyMs: 1 },
      ],
    } as Partial<Reward>,
    'expected verifier exact 1 throughout, got exact 2 for member 1',
  ],
])('%s breaks the protocol', async (_, second, message) => {
  await expect(run([delivery(0, { index: 0 }), delivery(1, second)])).rejects.toMatchObject({
    code: 'STREAM_PROTOCOL',
    message: `rewards.math: group g1: ${message}`,
  })
})

test('refuses one open group more than its bound', async () => {
  const many = Array.from({ length: 5 }, (_, i) => delivery(i, { groupId: `g${i}`, index: 0 }))
  await expect(run(many)).rejects.toMatchObject({ code: 'CREDIT_EXCEEDED' })
})

test('any order of arrival gives the same outcomes', async () => {
  const groups = 4
  const size = 3
  const members = Array.from({ length: groups * size }, (_, i) => {
    const lost = i % 7 === 5
    const over = { groupId: `g${i % groups}`, groupSize: size, index: Math.floor(i / groups) }
    return lost
      ? { ...over, kind: 'member-lost' as const, reason: 'VERIFIER_TIMEOUT' }
      : { ...over, score: Math.sin(i), truncated: i % 5 === 0 }
  })
  const outcomes = async (order: typeof members) => {
    const out = await run(order.map((m, i) => delivery(i, m)))
    return out.map((d) => outcomeOf(d.value)).sort((a, b) => (a.groupId < b.groupId ? -1 : 1))
  }
  const expected = await outcomes(members)
  expect(expected).toHaveLength(groups)
  const anyOrder = fc.shuffledSubarray(members, { minLength: members.length, maxLength: members.length })
  await fc.assert(
    fc.asyncProperty(anyOrder, async (order) => {
      expect(await outcomes(order)).toEqual(expected)
    }),
  )
})
