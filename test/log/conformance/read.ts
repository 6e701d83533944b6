import { expect, test } from 'vitest'
import { append, type Backend, note, notes, range, readAll } from './subject.ts'

export function readTests({ open, can }: Backend): void {
  test('a page holds at most the records that were asked for, and says where the next begins', async () => {
    await using subject = await open()
    const { log } = subject
    await append(log, range(0, 10))
    const first = await log.fetch(notes, 0, { records: 3, bytes: 1 << 20 })
    expect(first.records.map((r) => r.value.id)).toEqual([0, 1, 2])
    const second = await log.fetch(notes, first.next, { records: 100, bytes: 1 << 20 })
    expect(second.records.map((r) => r.value.id)).toEqual(range(3, 10))
    expect((await readAll(log, notes, 0, { records: 4, bytes: 1 << 20 })).map((r) => r.value.id)).toEqual(
      range(0, 10),
    )
  })

  test('a page holds at most the bytes that were asked for, but its first record whatever its size', async () => {
    await using subject = await open()
    const { log } = subject
    const texts = [10, 5000, 10, 10, 300_000, 10].map((length) => 'x'.repeat(length))
    await log.commit({ append: texts.map((text, id) => note(id, text)), settle: [] })
    const sizes = (await readAll(log, notes)).map((r) => r.bytes)
    const pages: number[][] = []
    for (let next = 0; ; ) {
      const { records, next: after } = await log.fetch(notes, next, { records: 100, bytes: 200 })
      if (records.length === 0) break
      const bytes = records.reduce((sum, r) => sum + r.bytes, 0)
      if (records.length > 1) expect(bytes).toBeLessThanOrEqual(200)
      pages.push(records.map((r) => r.value.id))
      next = after
    }
    expect(pages).toEqual([[0], [1], [2, 3], [4], [5]])
    const exact = await log.fetch(notes, 0, { records: 100, bytes: sizes[0]! + sizes[1]! })
    expect(exact.records.map((r) => r.value.id)).toEqual([0, 1])
  })

  test('reading starts at any offset, also in the middle of a commit', async () => {
    await using subject = await open()
    const { log } = subject
    const offsets = [...(await append(log, range(0, 20))), ...(await append(log, range(20, 25)))]
    for (const [id, offset] of offsets.entries()) {
      const [record] = (await log.fetch(notes, offset, { records: 1, bytes: 1 })).records
      expect(record).toMatchObject({ offset, value: { id } })
    }
  })

  test('beyond the end, and in a topic that was never written, there is nothing to read', async () => {
    await using subject = await open()
    const { log } = subject
    const offsets = await append(log, [1])
    const end = offsets[0]! + 1
    expect(await log.fetch(notes, end, { records: 1, bytes: 1 })).toEqual({ records: [], next: end })
    const unknown = { ...notes, name: 'unknown' }
    expect(await log.fetch(unknown, 0, { records: 1, bytes: 1 })).toEqual({ records: [], next: 0 })
    expect(await log.offset('unknown', 'earliest')).toBe(0)
    expect(await log.offset('unknown', 'latest')).toBe(0)
    expect(await log.offset('unknown', { timestamp: 0 })).toBe(0)
  })

  test('earliest, latest and an offset are where they say', async () => {
    await using subject = await open()
    const { log } = subject
    const offsets = await append(log, [1, 2, 3])
    expect(await log.offset('notes', 'earliest')).toBeLessThanOrEqual(offsets[0]!)
    expect(await log.offset('notes', { offset: 2 })).toBe(2)
    const latest = await log.offset('notes', 'latest')
    expect(latest).toBeGreaterThan(offsets[2]!)
    const [next] = await append(log, [4])
    expect((await readAll(log, notes, latest)).map((r) => r.offset)).toEqual([next])
  })

  test('a timestamp means the first record at or after it', async () => {
    await using subject = await open()
    const { log, clock } = subject
    for (const id of range(0, 12)) {
      if (clock) clock.time = 1000 + Math.floor(id / 3) * 10
      await append(log, [2 * id, 2 * id + 1])
    }
    const all = await readAll(log, notes)
    const times = [...new Set(all.map((r) => r.timestamp))]
    for (const time of [...times, ...times.map((t) => t + 0.5), times[0]! - 1, times.at(-1)! + 1]) {
      const from = await log.offset('notes', { timestamp: time })
      const wanted = all.filter((r) => r.timestamp >= time).map((r) => r.value.id)
      expect((await readAll(log, notes, from)).map((r) => r.value.id)).toEqual(wanted)
    }
  })

  test('topics are listed with their ends and sizes', async () => {
    await using subject = await open()
    const { log } = subject
    expect(await log.topics()).toEqual([])
    await append(log, range(0, 5))
    await log.commit({ append: [{ topic: { ...notes, name: 'b' }, value: { id: 1, text: '' } }], settle: [] })
    const infos = await log.topics()
    expect(infos.map((info) => info.name).sort()).toEqual(['b', 'notes'])
    const info = infos.find((i) => i.name === 'notes')!
    const read = await readAll(log, notes)
    expect(info.earliest).toBeLessThanOrEqual(read[0]!.offset)
    expect(info.next).toBe(await log.offset('notes', 'latest'))
    expect(info.bytes).toBe(read.reduce((sum, r) => sum + r.bytes, 0))
  })

  test('following: wait resolves once there is a record at the offset, never before', async () => {
    await using subject = await open()
    const { log } = subject
    const { signal } = new AbortController()
    let waited = false
    const waiting = log.wait('notes', 0, signal).then(() => {
      waited = true
    })
    await log.commit({ append: [{ topic: { ...notes, name: 'b' }, value: { id: 1, text: '' } }], settle: [] })
    expect(waited).toBe(false)
    const offsets = await append(log, [1])
    await waiting
    // It is there already.
    await log.wait('notes', offsets[0]!, signal)
  })

  test('a follower gets every record, in order, while they are written', async () => {
    await using subject = await open()
    const { log } = subject
    const { signal } = new AbortController()
    const followed: number[] = []
    const follow = async (): Promise<void> => {
      for (let next = 0; followed.length < 60; ) {
        const fetched = await log.fetch(notes, next, { records: 7, bytes: 1 << 20 })
        followed.push(...fetched.records.map((r) => r.value.id))
        next = fetched.next
        if (fetched.records.length === 0) await log.wait('notes', next, signal)
      }
    }
    const done = follow()
    for (const id of range(0, 20)) await append(log, [3 * id, 3 * id + 1, 3 * id + 2])
    await done
    expect(followed).toEqual(range(0, 60))
  })

  test('waiting ends with the reason of its signal', async () => {
    await using subject = await open()
    const { log } = subject
    const controller = new AbortController()
    const reason = new Error('enough')
    const waiting = [log.wait('notes', 0, controller.signal), log.wait('notes', 5, controller.signal)]
    controller.abort(reason)
    for (const wait of waiting) await expect(wait).rejects.toBe(reason)
    await expect(log.wait('notes', 0, controller.signal)).rejects.toBe(reason)
    // Others go on waiting.
    const other = log.wait('notes', 0, new AbortController().signal)
    await append(log, [1])
    await other
  })

  if (can.includes('reader')) {
    test('a log opened for reading follows what the other writes', async () => {
      await using subject = await open()
      await using reader = await subject.reader!()
      const waiting = reader.wait('notes', 0, new AbortController().signal)
      const offsets = await append(subject.log, [1, 2])
      await waiting
      await reader.wait('notes', offsets[1]!, new AbortController().signal)
      expect((await readAll(reader, notes)).map((r) => r.value.id)).toEqual([1, 2])
    })
  }
}
