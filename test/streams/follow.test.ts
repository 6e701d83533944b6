import { expect, test } from 'vitest'
import { follow, recordAt } from '../../streams/follow.ts'
import type { Append } from '../../streams/ports.ts'
import { smalls, turns } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'

const topic = smalls('t')

async function filled(count: number, log = new MemoryLog()) {
  const append = Array.from({ length: count }, (_, id) => ({ topic, value: { id, text: '' } }) as Append)
  await log.commit({ append, settle: [] })
  return log
}

test('everything from an offset to the end, over many pages, and where to go on', async () => {
  const log = await filled(600)
  const seen: number[] = []
  const { signal } = new AbortController()
  const next = await follow(log, topic, { from: 3, until: 'end', signal }, (r) => void seen.push(r.value.id))
  expect(next).toBe(600)
  expect(seen).toEqual(Array.from({ length: 597 }, (_, i) => i + 3))
})

test('an empty topic ends at once', async () => {
  const { signal } = new AbortController()
  const none = () => expect.unreachable()
  expect(await follow(new MemoryLog(), topic, { from: 0, until: 'end', signal }, none)).toBe(0)
})

test('without an end it waits for more, until the signal aborts with its reason', async () => {
  const log = await filled(2)
  const stop = new AbortController()
  const seen: number[] = []
  const following = follow(log, topic, { from: 0, signal: stop.signal }, (r) => void seen.push(r.value.id))
  const ended = expect(following).rejects.toThrow('enough')
  await turns()
  await filled(1, log)
  await turns()
  expect(seen).toEqual([0, 1, 0])
  stop.abort(new Error('enough'))
  await ended
})

test('one record is handled before the next, and no page is asked for meanwhile', async () => {
  const log = await filled(3)
  const { signal } = new AbortController()
  const going: string[] = []
  await follow(log, topic, { from: 0, until: 'end', signal }, async (r) => {
    going.push(`in ${r.offset}`)
    await turns(5)
    expect(log.fetches).toBe(1)
    going.push(`out ${r.offset}`)
  })
  expect(going).toEqual(['in 0', 'out 0', 'in 1', 'out 1', 'in 2', 'out 2'])
})

test('what the handler throws ends it', async () => {
  const log = await filled(3)
  const { signal } = new AbortController()
  const failing = follow(log, topic, { from: 0, signal }, () => {
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
})

test('the record at an offset, and none beyond the end', async () => {
  const log = await filled(3)
  expect((await recordAt(log, topic, 1))?.value.id).toBe(1)
  expect(await recordAt(log, topic, 3)).toBeUndefined()
})
