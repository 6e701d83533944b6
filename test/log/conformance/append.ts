import { expect, test } from 'vitest'
import { append, type Backend, ids, note, notes, others, range, readAll, rejection } from './subject.ts'

export function appendTests({ open, can }: Backend): void {
  test('a commit returns an offset for each record, rising within its topic, in the order of the appends', async () => {
    await using subject = await open()
    const { log } = subject
    const { offsets } = await log.commit({
      append: [note(1), { topic: others, value: { id: 10, text: 'a' } }, note(2), note(3)],
      settle: [],
    })
    expect(offsets).toHaveLength(4)
    const read = await readAll(log, notes)
    expect(read.map((r) => r.value.id)).toEqual([1, 2, 3])
    expect(read.map((r) => r.offset)).toEqual([offsets[0], offsets[2], offsets[3]])
    expect((await readAll(log, others)).map((r) => r.offset)).toEqual([offsets[1]])
    const later = await append(log, [4])
    expect(later[0]).toBeGreaterThan(offsets[3]!)
  })

  test('a record carries topic, key, headers, value and its stored size', async () => {
    await using subject = await open()
    const { log } = subject
    const headers = { trace: 'abc', 'content-type': 'text/plain; größe=1', empty: '' }
    await log.commit({ append: [{ ...note(7, 'text ✓'), headers }, note(8)], settle: [] })
    const [first, second] = await readAll(log, notes)
    expect(first).toMatchObject({
      topic: 'notes',
      key: 'key 7',
      headers,
      value: { id: 7, text: 'text ✓' },
      bytes: notes.encode({ id: 7, text: 'text ✓' }).length,
    })
    expect(second?.headers).toEqual({})
  })

  test('an empty commit changes nothing', async () => {
    await using subject = await open()
    expect(await subject.log.commit({ append: [], settle: [] })).toEqual({ offsets: [] })
    expect(await subject.log.fetch(notes, 0, { records: 1, bytes: 1 })).toEqual({ records: [], next: 0 })
  })

  test('commits made together all succeed, in the order of their calls', async () => {
    await using subject = await open()
    const { log } = subject
    const offsets = await Promise.all(range(0, 200).map((id) => append(log, [id])))
    expect(await ids(log)).toEqual(range(0, 200))
    expect((await readAll(log, notes)).map((r) => r.offset)).toEqual(offsets.flat())
  })

  test('timestamps never fall within a topic', async () => {
    await using subject = await open()
    const { log } = subject
    for (const id of range(0, 5)) await append(log, [id, id])
    const times = (await readAll(log, notes)).map((r) => r.timestamp)
    expect(times).toEqual(times.toSorted((a, b) => a - b))
  })

  if (can.includes('clock')) {
    test('a clock that is put back does not put timestamps back', async () => {
      await using subject = await open()
      const { log, clock } = subject
      clock!.time = 5000
      await append(log, [1])
      clock!.time = 3000
      await append(log, [2])
      clock!.time = 6000
      await append(log, [3])
      expect((await readAll(log, notes)).map((r) => r.timestamp)).toEqual([5000, 5000, 6000])
    })
  }

  test('a value that does not fit its topic is refused, and nothing of its commit is written', async () => {
    await using subject = await open()
    const { log } = subject
    await append(log, [0])
    const [offset] = (await readAll(log, notes)).map((r) => r.offset)
    const bad = { topic: notes, value: { id: 'one', text: 'a' } }
    const settle = [{ group: 'g', topic: 'notes', offset: offset! }]
    const refused = log.commit({ append: [note(1), bad, note(2)], settle })
    const after = append(log, [3])
    expect(await rejection(refused, 'RECORD_INVALID')).toMatch(/notes/)
    await after
    expect(await ids(log)).toEqual([0, 3])
    expect((await log.position('g', 'notes')).beyond).toEqual([])
    expect((await log.position('g', 'notes')).floor).toBeLessThanOrEqual(offset!)
  })

  if (can.includes('limit')) {
    test('a record above the limit is refused, and nothing of its commit is written', async () => {
      await using subject = await open()
      const { log, maxRecordBytes } = subject
      const large = note(1, 'x'.repeat(maxRecordBytes!))
      const message = await rejection(
        log.commit({ append: [note(0), large], settle: [] }),
        'RECORD_TOO_LARGE',
      )
      expect(message).toMatch(`at most ${maxRecordBytes}`)
      expect(await ids(log)).toEqual([])
      await append(log, [2])
      expect(await ids(log)).toEqual([2])
    })
  }

  if (can.includes('reopen')) {
    test('what was committed is there after closing and opening again', async () => {
      await using subject = await open()
      const offsets = await append(subject.log, range(0, 10))
      await subject.log.commit({
        append: [],
        settle: [offsets[0]!, offsets[2]!].map((offset) => ({ group: 'g', topic: 'notes', offset })),
      })
      const before = await readAll(subject.log, notes)
      const position = await subject.log.position('g', 'notes')
      const again = await subject.reopen!()
      expect(await readAll(again, notes)).toEqual(before)
      expect(await again.position('g', 'notes')).toEqual(position)
      const [next] = await append(again, [10])
      expect(next).toBeGreaterThan(offsets[9]!)
    })

    test('closing waits for the commits under way; a closed log refuses everything', async () => {
      await using subject = await open()
      const { log } = subject
      const under = append(log, [1])
      const closing = log[Symbol.asyncDispose]()
      await rejection(append(log, [2]), 'LOG_CLOSED')
      await Promise.all([under, closing, log[Symbol.asyncDispose]()])
      await rejection(log.fetch(notes, 0, { records: 1, bytes: 1 }), 'LOG_CLOSED')
      await rejection(log.position('g', 'notes'), 'LOG_CLOSED')
      await rejection(log.offset('notes', 'latest'), 'LOG_CLOSED')
      await rejection(log.topics(), 'LOG_CLOSED')
      await rejection(log.wait('notes', 0, new AbortController().signal), 'LOG_CLOSED')
      expect(await ids(await subject.reopen!())).toEqual([1])
    })
  }

  if (can.includes('reader')) {
    test('a log opened for reading reads and does not write', async () => {
      await using subject = await open()
      await append(subject.log, [1, 2])
      await using reader = await subject.reader!()
      expect(await ids(reader)).toEqual([1, 2])
      await rejection(append(reader, [3]), 'LOG_READ_ONLY')
      expect(await ids(subject.log)).toEqual([1, 2])
    })
  }
}
