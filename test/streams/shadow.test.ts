import { expect, test } from 'vitest'
import type { Verdict, Verifier } from '../../streams/ports.ts'
import { type Candidate, runShadow } from '../../streams/shadow.ts'
import {
  type Reward,
  rewards,
  rollouts,
  type Shadow,
  shadows,
  type VerifierAsked,
} from '../../topics/index.ts'
import { reward, rollout } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'

const domain = 'math'

async function recorded(log: MemoryLog): Promise<Shadow[]> {
  const { records } = await log.fetch(shadows(domain), 0, { records: 1000, bytes: 1e9 })
  return records.map((r) => r.value)
}

/** Rollout and reward of member `index` of a group, scored `score` by version 1. */
async function rewarded(
  log: MemoryLog,
  group: string,
  index: number,
  score: number | undefined,
): Promise<void> {
  const id = `${group}:${index}`
  const value = rollout({ id, groupId: group, groupSize: 2, index })
  const { offsets } = await log.commit({ append: [{ topic: rollouts(domain), value }], settle: [] })
  const component = { verifier: 'sum', version: '1', codeHash: 'h1', weight: 1, latencyMs: 1 }
  const record: Reward = {
    ...reward({ id, groupId: group, groupSize: 2, index }),
    ...(score === undefined
      ? {
          kind: 'member-lost',
          score: undefined,
          reason: 'VERIFIER_FAILED',
          rewards: [{ ...component, status: 'error' }],
        }
      : { kind: 'reward', score, rewards: [{ ...component, status: 'ok', score }] }),
    rolloutOffset: offsets[0]!,
  }
  await log.commit({ append: [{ topic: rewards(domain), value: record }], settle: [] })
}

function verifierOf(verify: (index: number) => Verdict): Verifier {
  return { name: 'sum', version: '2', codeHash: 'h2', verify: async (r) => verify(r.index) }
}

interface Started {
  asked: [string, VerifierAsked][]
  /** Tells that the candidate or its rule is another one. */
  changed(): void
  stop(): Promise<void>
}

function started(log: MemoryLog, candidate: () => Candidate | undefined, now = 0): Started {
  const stop = new AbortController()
  const asked: [string, VerifierAsked][] = []
  const callbacks = new Set<() => void>()
  const running = runShadow(log, {
    domains: [domain],
    candidates: {
      candidate: (name) => (name === 'sum' ? candidate() : undefined),
      staged: () => [candidate()].filter((c) => c !== undefined),
      onChange: (callback) => void callbacks.add(callback),
    },
    clock: { now: () => now },
    ask: (id, a) => void asked.push([id, a]),
    signal: stop.signal,
  }).catch((error: unknown) => {
    if (error !== stop.signal.reason) throw error
  })
  return {
    asked,
    changed: () => {
      for (const callback of callbacks) callback()
    },
    stop: () => {
      stop.abort()
      return running
    },
  }
}

async function until(what: () => Promise<boolean>): Promise<void> {
  while (!(await what())) await new Promise((resolve) => setTimeout(resolve, 5))
}

const one: Verdict = { outcome: 'score', score: 1 }
const failed: Verdict = { outcome: 'failed', code: 'VERIFIER_TIMEOUT', message: 'slow', retryable: true }

test('every rewarded rollout gets one record, also over a restart; lost members get none', async () => {
  const log = new MemoryLog()
  const candidate = {
    verifier: verifierOf((i) => (i === 1 ? failed : one)),
    change: 'c',
    since: 0,
    rule: undefined,
  }
  await rewarded(log, 'a', 0, 0)
  await rewarded(log, 'a', 1, 1)
  const first = started(log, () => candidate)
  await until(async () => (await recorded(log)).length === 2)
  await first.stop()
  await rewarded(log, 'b', 0, undefined)
  await rewarded(log, 'b', 1, 1)
  const second = started(log, () => candidate)
  await until(async () => (await recorded(log)).length === 3)
  await second.stop()
  const all = await recorded(log)
  expect(all.map((s) => s.id)).toEqual(['a:0', 'a:1', 'b:1'])
  expect(all[0]).toMatchObject({
    change: 'c',
    rewardOffset: 0,
    active: { version: '1', score: 0 },
    candidate: { version: '2', codeHash: 'h2', status: 'ok', score: 1 },
  })
  expect(all[1]!.candidate).toMatchObject({ status: 'timeout', code: 'VERIFIER_TIMEOUT' })
  expect(all[1]!.candidate.score).toBeUndefined()
})

test('nothing is judged without a candidate, nor what was rewarded before it came', async () => {
  const log = new MemoryLog()
  await rewarded(log, 'a', 0, 1)
  const late = {
    verifier: verifierOf(() => one),
    change: 'c',
    since: Number.MAX_SAFE_INTEGER,
    rule: undefined,
  }
  for (const candidate of [() => undefined, () => late]) {
    const running = started(log, candidate)
    await new Promise((resolve) => setTimeout(resolve, 30))
    await running.stop()
  }
  expect(await recorded(log)).toEqual([])
})

test.each([
  ['agrees', 0, 'promote', '0.0 % flips and 0.0 % errors in 4 rollouts'],
  ['differs', 1, 'withdraw', '50.0 % flips and 0.0 % errors in 4 rollouts'],
])('a rule is decided once it has seen enough: the candidate %s', async (_, flips, action, reason) => {
  const log = new MemoryLog()
  const verifier = verifierOf((i) => ({ outcome: 'score', score: i === 1 && flips ? 0 : 1 }))
  const rule = { after: 4, maxFlips: 0.02, maxErrors: 0 }
  const running = started(log, () => ({ verifier, change: 'c', since: 0, rule }))
  for (const group of ['a', 'b', 'c']) {
    expect(running.asked.length).toBe(group === 'c' ? 1 : 0)
    for (const index of [0, 1]) await rewarded(log, group, index, 1)
    const expected = { a: 2, b: 4, c: 6 }[group]
    await until(
      async () => (await recorded(log)).length === expected && (group === 'a' || running.asked.length > 0),
    )
  }
  await running.stop()
  expect(running.asked).toEqual([
    [`${action}-c`, { action, reason, name: 'sum', version: '2', codeHash: 'h2' }],
  ])
})

test('a rule that comes when enough is judged is decided at once, and by a restart', async () => {
  const log = new MemoryLog()
  let rule: Candidate['rule']
  const candidate = () => ({ verifier: verifierOf(() => one), change: 'c', since: 0, rule })
  const running = started(log, candidate)
  for (const index of [0, 1]) await rewarded(log, 'a', index, 1)
  await until(async () => (await recorded(log)).length === 2)
  rule = { after: 2, maxFlips: 0, maxErrors: 0 }
  running.changed()
  running.changed()
  await running.stop()
  const again = started(log, candidate)
  await until(async () => again.asked.length > 0)
  await again.stop()
  const ids = [running.asked, again.asked].map((asked) => asked.map(([id]) => id))
  expect(ids).toEqual([['promote-c'], ['promote-c']])
  expect(await recorded(log)).toHaveLength(2)
})

test('a candidate with too many errors is withdrawn', async () => {
  const log = new MemoryLog()
  const verifier = verifierOf(() => {
    throw new Error('broken')
  })
  const running = started(log, () => ({ verifier, change: 'c', since: 0, rule: undefined }))
  for (let i = 0; i < 20; i++) await rewarded(log, `g${i}`, 0, 1)
  await until(async () => running.asked.length > 0)
  await running.stop()
  expect(running.asked[0]![1]).toMatchObject({
    action: 'withdraw',
    reason: '0.0 % flips and 100.0 % errors in 20 rollouts',
  })
})

/** Where the first page of rewards that is asked for begins. */
class Watched extends MemoryLog {
  begun: number | undefined

  override async fetch<T>(...[topic, from, limit]: Parameters<MemoryLog['fetch']>) {
    if (topic.name === rewards(domain).name) this.begun ??= from
    return super.fetch<T>(topic as never, from, limit)
  }
}

const later = 10_000_000

test.each([
  ['without a candidate at the end of what is old', undefined, 4],
  // The reward at offset n was written at 2 n + 2.
  ['with one at what was rewarded since it was staged', 5, 2],
  ['with one that was staged before all at the beginning', 0, 0],
])('a start begins %s', async (_, since, expected) => {
  const log = new Watched()
  for (let i = 0; i < 4; i++) await rewarded(log, `g${i}`, 0, 1)
  const verifier = verifierOf(() => one)
  const candidate = since === undefined ? undefined : { verifier, change: 'c', since, rule: undefined }
  const first = started(log, () => candidate, later)
  await until(async () => log.begun !== undefined && (await recorded(log)).length === 4 - expected)
  await first.stop()
  expect(log.begun).toBe(expected)
  // What it has judged it does not read again.
  log.begun = undefined
  const second = started(log, () => candidate, later)
  await until(async () => log.begun !== undefined)
  await second.stop()
  expect(log.begun).toBe(4)
  expect(await recorded(log)).toHaveLength(4 - expected)
})

test('a change of the last minute may not be known yet: its rewards are looked at', async () => {
  const log = new Watched()
  for (let i = 0; i < 4; i++) await rewarded(log, `g${i}`, 0, 1)
  let candidate: Candidate | undefined
  const running = started(log, () => candidate, 60_000 + 5)
  await until(async () => log.begun !== undefined)
  expect(log.begun).toBe(2)
  candidate = { verifier: verifierOf(() => one), change: 'c', since: 7, rule: undefined }
  await rewarded(log, 'g4', 0, 1)
  await until(async () => (await recorded(log)).length > 0)
  await running.stop()
})
