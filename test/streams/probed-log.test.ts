import { expect, test } from 'vitest'
import type { Append } from '../../streams/ports.ts'
import { probedLog } from '../../streams/probed-log.ts'
import { smalls } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'

const topic = smalls('t')
const commit = {
  append: [{ topic, value: { id: 7, text: '' } } as Append],
  settle: [{ group: 'g', topic: 'in', offset: 0 }],
}

test('the probe is told on both sides of what is written', async () => {
  const log = new MemoryLog()
  const told: [string, number][] = []
  const probed = probedLog(log, (point) => void told.push([point, log.values(topic).length]))
  expect(await probed.commit(commit)).toEqual({ offsets: [0] })
  expect(told).toEqual([
    ['commit:before', 0],
    ['commit:after', 1],
  ])
})

test.each([
  ['commit:before', 0],
  ['commit:after', 1],
])('a process that ends at %s leaves %i records', async (at, count) => {
  const log = new MemoryLog()
  const probed = probedLog(log, (point) => {
    if (point === at) throw new Error('gone')
  })
  await expect(probed.commit(commit)).rejects.toThrow('gone')
  expect(log.values(topic)).toHaveLength(count)
})

test('a commit that fails is never told to be written', async () => {
  const log = new MemoryLog({
    beforeCommit: () => {
      throw new Error('full')
    },
  })
  const told: string[] = []
  await expect(probedLog(log, (point) => void told.push(point)).commit(commit)).rejects.toThrow('full')
  expect(told).toEqual(['commit:before'])
})

test('everything else is the log itself', async () => {
  const log = new MemoryLog({ window: 9 })
  const probed = probedLog(log, () => undefined)
  const { signal } = new AbortController()
  const waiting = probed.wait('t', 0, signal)
  await probed.commit(commit)
  await waiting
  const limit = { records: 10, bytes: 1000 }
  expect(await probed.fetch(topic, 0, limit)).toEqual(await log.fetch(topic, 0, limit))
  expect(await probed.position('g', 'in')).toEqual({ floor: 1, beyond: [] })
  expect(await probed.offset('t', 'latest')).toBe(1)
  expect(await probed.topics()).toEqual(await log.topics())
  expect(probed.window).toBe(9)
})
