import { expect, test } from 'vitest'
import { HostedVerifier, withPlaces } from '../../../src/verifiers/configured/hosted-verifier.ts'
import type { Judge } from '../../../src/verifiers/pool/index.ts'
import type { Verdict } from '../../../streams/ports.ts'
import { rollout } from '../../streams/helpers.ts'

const { signal } = new AbortController()
const identity = { name: 'x', version: '1', codeHash: 'h' }
const one: Verdict = { outcome: 'score', score: 1 }

function hosted(
  judge: Judge['judge'],
  more: { wallMs?: number; concurrency?: number; open?: () => void } = {},
) {
  const opened = { times: 0, closed: 0 }
  const verifier = new HostedVerifier({
    ...identity,
    async open() {
      opened.times += 1
      more.open?.()
      return {
        judge,
        async [Symbol.asyncDispose]() {
          opened.closed += 1
        },
      }
    },
    request: (r) => r.responseText,
    concurrency: more.concurrency ?? 2,
    wallMs: more.wallMs,
  })
  return { verifier, opened }
}

test('it is opened by the first judgement, once, and closed once', async () => {
  const { verifier, opened } = hosted((text) => ({ outcome: 'score', score: String(text).length }))
  expect(opened.times).toBe(0)
  const verdicts = await Promise.all(
    ['a', 'bb'].map((t) => verifier.verify(rollout({ responseText: t }), signal)),
  )
  expect(verdicts).toMatchObject([{ score: 1 }, { score: 2 }])
  await verifier[Symbol.asyncDispose]()
  expect(opened).toEqual({ times: 1, closed: 1 })
})

test('no more judge at once than its places; an abort frees one that waits', async () => {
  let under = 0
  let most = 0
  const waiting: (() => void)[] = []
  const { verifier } = hosted(
    () =>
      new Promise((resolve) => {
        under += 1
        most = Math.max(most, under)
        waiting.push(() => {
          under -= 1
          resolve(one)
        })
      }),
  )
  const abort = new AbortController()
  const all = [signal, signal, abort.signal, signal].map((s) => verifier.verify(rollout(), s))
  const settled = Promise.allSettled(all)
  abort.abort(new Error('enough'))
  let left = 3
  while (left > 0) {
    await new Promise((resolve) => setTimeout(resolve, 1))
    for (const go of waiting.splice(0)) {
      left -= 1
      go()
    }
  }
  expect((await settled).map((s) => s.status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  expect(most).toBe(2)
})

test('what takes too long is an error of that one, also where the judge does not heed the signal', async () => {
  const { verifier } = hosted(
    (text) => (text === 'hang' ? new Promise<Verdict>(() => undefined) : Promise.resolve(one)),
    { wallMs: 30, concurrency: 1 },
  )
  expect(await verifier.verify(rollout({ responseText: 'hang' }), signal)).toMatchObject({
    outcome: 'failed',
    code: 'VERIFIER_TIMEOUT',
    message: 'verifier x: took more than 30 ms',
  })
  expect(await verifier.verify(rollout({ responseText: 'fine' }), signal)).toEqual(one)
})

test('an abort is thrown with its reason', async () => {
  const abort = new AbortController()
  const { verifier } = hosted(() => new Promise<Verdict>(() => undefined), { wallMs: 10_000 })
  const judged = verifier.verify(rollout(), abort.signal)
  abort.abort(new Error('enough'))
  await expect(judged).rejects.toThrow('enough')
})

test('one that cannot be opened is tried again by the next', async () => {
  let broken = true
  const { verifier, opened } = hosted(() => one, {
    open() {
      if (broken) throw new Error('no model here')
    },
  })
  await expect(verifier.verify(rollout(), signal)).rejects.toThrow('no model here')
  broken = false
  expect(await verifier.verify(rollout(), signal)).toEqual(one)
  expect(opened.times).toBe(2)
})

test('places bound what waits for a server, and leave its name and hash', async () => {
  let under = 0
  let most = 0
  const server = {
    ...identity,
    async verify() {
      under += 1
      most = Math.max(most, under)
      await new Promise((resolve) => setTimeout(resolve, 2))
      under -= 1
      return one
    },
  }
  const bounded = withPlaces(server, 3)
  expect(bounded).toMatchObject({ ...identity, limited: true })
  await Promise.all(Array.from({ length: 20 }, () => bounded.verify(rollout(), signal)))
  expect(most).toBe(3)
})
