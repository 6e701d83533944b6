import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Engine, openEngine } from '../../src/model/engine/index.ts'
import { versionedEngine } from '../../src/policy/versioned-engine.ts'
import { tiny } from '../model/engine/helpers.ts'

let engine: Engine
const never = new AbortController().signal

beforeAll(async () => {
  engine = await openEngine({ config: tiny, deterministic: false, threads: 1 })
})

afterAll(() => engine[Symbol.asyncDispose]())

test('a version is reached when it is loaded, and those who wait for a later one go on waiting', async () => {
  const versioned = versionedEngine(engine, 3)
  await versioned.reach(3, never)
  const order: string[] = []
  const four = versioned.reach(4, never).then(() => order.push('four'))
  const five = versioned.reach(5, never).then(() => order.push('five'))
  versioned.set(4)
  await four
  expect(order).toEqual(['four'])
  versioned.set(5)
  await five
  expect(order).toEqual(['four', 'five'])
})

test('a version that is past is an error, at once or when it is passed over', async () => {
  const versioned = versionedEngine(engine, 3)
  const past = (wanted: number, got: number) => ({
    code: 'POLICY_VERSION',
    message: `expected policy version ${wanted}, got version ${got}: the one wanted is past`,
  })
  await expect(versioned.reach(2, never)).rejects.toMatchObject(past(2, 3))
  const four = expect(versioned.reach(4, never)).rejects.toMatchObject(past(4, 7))
  versioned.set(7)
  await four
})

test('an abort ends the wait with its reason, before or during it', async () => {
  const versioned = versionedEngine(engine)
  const abort = new AbortController()
  const waiting = expect(versioned.reach(1, abort.signal)).rejects.toThrow('enough')
  abort.abort(new Error('enough'))
  await waiting
  await expect(versioned.reach(0, abort.signal)).rejects.toThrow('enough')
  versioned.set(1)
  await versioned.reach(1, never)
})
