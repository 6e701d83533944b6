import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Breaker } from '../../streams/breaker.ts'

const options = { of: 4, share: 0.5, retryMs: 10, maxRetryMs: 40, maxOutageMs: 200 }

/** Out at time 0. */
function out(): Breaker {
  const breaker = new Breaker(options)
  for (const error of [false, true, true, true]) {
    expect(breaker.open).toBe(false)
    breaker.tell(error, 0)
  }
  expect(breaker.open).toBe(true)
  return breaker
}

test('opens when more than the share of the newest are errors, and not before it has seen enough', () => {
  const breaker = new Breaker(options)
  for (const error of [true, true, false, false, true, true, false, false]) breaker.tell(error, 0)
  expect(breaker.open).toBe(false)
  out()
})

test('lets one judgement through at a time, later after each that fails', () => {
  const breaker = out()
  expect(breaker.ask(3)).toEqual({ waitMs: 7 })
  expect(breaker.ask(10)).toEqual({ go: true })
  expect(breaker.ask(10)).toEqual({ waitMs: 10 })
  const waits: number[] = []
  for (let now = 10, i = 0; i < 4; i++) {
    breaker.tell(true, now)
    const { waitMs } = breaker.ask(now) as { waitMs: number }
    waits.push(waitMs)
    now += waitMs
    expect(breaker.ask(now)).toEqual({ go: true })
  }
  expect(waits).toEqual([20, 40, 40, 40])
})

test('closes at the first verdict and begins anew', () => {
  const breaker = out()
  breaker.ask(10)
  breaker.tell(false, 12)
  expect(breaker.open).toBe(false)
  for (const error of [true, true, true]) breaker.tell(error, 20)
  expect(breaker.open).toBe(false)
  breaker.tell(true, 20)
  expect(breaker.ask(20)).toEqual({ waitMs: 10 })
})

test('a try that is aborted is tried again; errors from before the outage change nothing', () => {
  const breaker = out()
  breaker.tell(true, 1)
  expect(breaker.ask(1)).toEqual({ waitMs: 9 })
  breaker.ask(10)
  breaker.forget()
  expect(breaker.ask(11)).toEqual({ go: true })
})

test('says so when it has lasted too long', () => {
  expect(out().ask(201)).toEqual({ outageMs: 201 })
})

test('property: whatever is told, a closed breaker lets through, an open one never two at once', () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.nat(30)), { maxLength: 60 })
  fc.assert(
    fc.property(steps, (all) => {
      const breaker = new Breaker({ ...options, maxOutageMs: Number.POSITIVE_INFINITY })
      let now = 0
      for (const [error, later] of all) {
        now += later
        const open = breaker.open
        const permit = breaker.ask(now)
        if (!open) expect(permit).toEqual({ go: true })
        else if ('go' in permit) expect(breaker.ask(now)).not.toHaveProperty('go')
        if ('go' in permit) breaker.tell(error, now)
      }
    }),
  )
})
