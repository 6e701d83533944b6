import { asyncScheduler } from 'rxjs'
import type { RunHelpers } from 'rxjs/testing'
import { describe, expect, test } from 'vitest'
import type { Verdict } from '../../streams/ports.ts'
import { type VerifyOptions, verify } from '../../streams/verify.ts'
import type { Rollout } from '../../topics/index.ts'
import { envelope, marbles, Probe, rollout, when } from './helpers.ts'

const options = (over: Partial<VerifyOptions>): VerifyOptions => ({
  concurrency: 4,
  attempts: 8,
  timeoutMs: 1000,
  scheduler: asyncScheduler,
  clock: { now: () => 0 },
  ...over,
})
const delivery = (offset = 0, over: Partial<Rollout> = {}) =>
  new Probe(envelope('rollouts.math', offset, rollout(over)), offset)

describe('in virtual time', () => {
  const at = (offset: number) => expect.objectContaining({ positions: [{ group: 'g', topic: 't', offset }] })
  const virtual = (helpers: RunHelpers, answers: string[]) => {
    const score: Verdict = { outcome: 'score', score: 1 }
    const calls = answers.map((a) => helpers.cold(a, { v: score }, new Error('broken')))
    let next = 0
    const verifier = {
      name: 'exact',
      version: '1',
      codeHash: 'h1',
      verify: () => {
        next += 1
        return when(calls[next - 1]!)
      },
    }
    return { current: () => verifier, pinned: () => verifier }
  }

  test('in an outage rollouts wait, one is tried now and then, and all are judged when it is over', () => {
    marbles((helpers) => {
      const { hot, expectObservable, flush } = helpers
      const told: [string, boolean][] = []
      const v = virtual(helpers, [...'#######', '--(v|)', '(v|)', '(v|)', '(v|)'])
      const outage = { of: 4, share: 0.5, retryMs: 10, maxRetryMs: 10, maxOutageMs: 1000 }
      const source = hot('(abcd)', {
        a: delivery(0),
        b: delivery(1, { index: 1 }),
        c: delivery(2, { index: 2 }),
        d: delivery(3, { index: 3 }),
      })
      const onOutage = (name: string, begins: boolean) => void told.push([name, begins])
      const op = verify(v, options({ outage, onOutage }))
      const judged = { a: at(0), b: at(1), c: at(2), d: at(3) }
      expectObservable(source.pipe(op)).toBe('12ms d 7ms (abc)', judged)
      flush()
      expect(told).toEqual([
        ['exact', true],
        ['exact', false],
      ])
    })
  })

  test('an outage that lasts too long is an error of the stream', () => {
    marbles((helpers) => {
      const { hot, expectObservable } = helpers
      const v = virtual(helpers, ['#', '#', '#', '#', '#'])
      const outage = { of: 2, share: 0.5, retryMs: 10, maxRetryMs: 10, maxOutageMs: 25 }
      const op = verify(v, options({ outage }))
      const failure = expect.objectContaining({ code: 'VERIFIER_ERROR_BUDGET' })
      expectObservable(hot('a', { a: delivery() }).pipe(op)).toBe('30ms #', {}, failure)
    })
  })
})
