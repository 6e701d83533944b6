import { expect, test } from 'vitest'
import type { TopicLog } from '../../../streams/ports.ts'
import { append, type Backend, ids, note, notes, others, range, readAll, rejection } from './subject.ts'

function settle(log: TopicLog, group: string, offsets: readonly number[], topic = 'notes'): Promise<unknown> {
  return log.commit({ append: [], settle: offsets.map((offset) => ({ group, topic, offset })) })
}

/** Ids that a reader has still to settle: what a restart hands out. */
async function open(log: TopicLog, group: string): Promise<number[]> {
  const { floor, beyond } = await log.position(group, 'notes')
  expect(beyond).toEqual(beyond.toSorted((a, b) => a - b))
  for (const offset of beyond) expect(offset).toBeGreaterThan(floor)
  const settled = new Set(beyond)
  return (await readAll(log, notes, floor)).filter((r) => !settled.has(r.offset)).map((r) => r.value.id)
}

export function positionTests(backend: Backend): void {
  test('a new reader has settled nothing', async () => {
    await using subject = await backend.open()
    expect(await subject.log.position('g', 'notes')).toEqual({ floor: 0, beyond: [] })
    await append(subject.log, range(0, 3))
    expect(await open(subject.log, 'g')).toEqual([0, 1, 2])
  })

  test('records settle in any order; the floor follows the settled prefix', async () => {
    await using subject = await backend.open()
    const { log } = subject
    const at = await append(log, range(0, 6))
    await settle(log, 'g', [at[1]!, at[4]!])
    expect(await open(log, 'g')).toEqual([0, 2, 3, 5])
    expect((await log.position('g', 'notes')).beyond).toEqual([at[1], at[4]])
    await settle(log, 'g', [at[0]!])
    expect(await open(log, 'g')).toEqual([2, 3, 5])
    expect((await log.position('g', 'notes')).beyond).toEqual([at[4]])
    await settle(log, 'g', [at[3]!, at[2]!])
    expect(await open(log, 'g')).toEqual([5])
    expect((await log.position('g', 'notes')).beyond).toEqual([])
  })

  test('readers are independent, and so are topics', async () => {
    await using subject = await backend.open()
    const { log } = subject
    const at = await append(log, range(0, 3))
    await log.commit({ append: [{ topic: others, value: { id: 1, text: '' } }], settle: [] })
    await settle(log, 'a', [at[0]!])
    await settle(log, 'b', at)
    expect(await open(log, 'a')).toEqual([1, 2])
    expect(await open(log, 'b')).toEqual([])
    expect(await open(log, 'c')).toEqual([0, 1, 2])
    expect(await log.position('a', others.name)).toEqual({ floor: 0, beyond: [] })
  })

  test('appends and settled positions are one transaction', async () => {
    await using subject = await backend.open()
    const { log } = subject
    const at = await append(log, range(0, 3))
    await log.commit({
      append: [{ topic: others, value: { id: 9, text: '' } }],
      settle: [
        { group: 'a', topic: 'notes', offset: at[0]! },
        { group: 'b', topic: 'notes', offset: at[1]! },
      ],
    })
    expect(await ids(log, others)).toEqual([9])
    expect(await open(log, 'a')).toEqual([1, 2])
    expect(await open(log, 'b')).toEqual([0, 2])
  })

  test('what is settled already cannot be settled again, and its commit writes nothing', async () => {
    await using subject = await backend.open()
    const { log } = subject
    const at = await append(log, range(0, 3))
    await settle(log, 'g', [at[0]!, at[2]!])
    for (const again of [at[0]!, at[2]!]) {
      const tx = {
        append: [note(9)],
        settle: [at[1]!, again].map((offset) => ({ group: 'g', topic: 'notes', offset })),
      }
      await rejection(log.commit(tx), 'STREAM_PROTOCOL')
    }
    expect(await ids(log)).toEqual([0, 1, 2])
    expect(await open(log, 'g')).toEqual([1])
  })

  test('of two commits made together that settle the same record, the second fails alone', async () => {
    await using subject = await backend.open()
    const { log } = subject
    const at = await append(log, range(0, 2))
    const tx = (id: number, offset: number) =>
      log.commit({ append: [note(id)], settle: [{ group: 'g', topic: 'notes', offset }] })
    const results = await Promise.allSettled([tx(10, at[0]!), tx(11, at[0]!), tx(12, at[1]!)])
    expect(results.map((r) => r.status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await ids(log)).toEqual([0, 1, 10, 12])
    expect(await open(log, 'g')).toEqual([10, 12])
  })

  test('a record a window or more beyond the floor cannot be settled, and its commit writes nothing', async () => {
    await using subject = await backend.open({ window: 4 })
    const { log } = subject
    expect(log.window).toBe(4)
    const at = await append(log, range(0, 40))
    await settle(log, 'g', [at[3]!])
    const tx = { append: [note(99)], settle: [{ group: 'g', topic: 'notes', offset: at[20]! }] }
    expect(await rejection(log.commit(tx), 'WINDOW_EXCEEDED')).toMatch(/notes/)
    expect(await ids(log)).toEqual(range(0, 40))
    await settle(log, 'g', [at[0]!, at[1]!, at[2]!])
    await settle(log, 'g', [at[4]!, at[5]!, at[7]!])
    expect(await open(log, 'g')).toEqual([6, ...range(8, 40)])
  })
}
