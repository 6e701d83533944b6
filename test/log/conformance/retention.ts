import { expect, test } from 'vitest'
import { defineTopic } from '../../../topics/index.ts'
import { append, type Backend, ids, type Note, notes, range, readAll, rejection } from './subject.ts'

export function retentionTests({ open }: Backend): void {
  const keep = (retention: { ageMs?: number; bytes?: number }) => defineTopic<Note>({ ...notes, retention })

  test('records older than the age of their topic go', async () => {
    await using subject = await open()
    const { log, clock } = subject
    const at: number[] = []
    for (const id of range(0, 10)) {
      clock!.time = 1000 * id
      at.push(...(await append(log, [id])))
    }
    clock!.time = 10_000
    await subject.retain!(keep({ ageMs: 4000 }))
    expect(await log.offset('notes', 'earliest')).toBe(at[6])
    expect(await ids(log, notes, at[6])).toEqual([6, 7, 8, 9])
    const message = await rejection(log.fetch(notes, at[2]!, { records: 1, bytes: 1 }), 'LOG_OFFSET_GONE')
    expect(message).toMatch(`notes offset ${at[2]}`)
    const [info] = await log.topics()
    expect(info).toMatchObject({ earliest: at[6], next: at[9]! + 1 })
    expect(info!.bytes).toBe((await readAll(log, notes, at[6])).reduce((sum, r) => sum + r.bytes, 0))
    expect(await log.offset('notes', { timestamp: 0 })).toBe(at[6])
  })

  test('the oldest records go until a topic has no more than its bytes', async () => {
    await using subject = await open()
    const { log } = subject
    for (const id of range(0, 10)) await append(log, [id])
    const [record] = await readAll(log, notes)
    await subject.retain!(keep({ bytes: 3 * record!.bytes }))
    const earliest = await log.offset('notes', 'earliest')
    expect(await ids(log, notes, earliest)).toEqual([7, 8, 9])
    await subject.retain!(keep({ bytes: 0 }))
    expect(await ids(log, notes, await log.offset('notes', 'earliest'))).toEqual([])
    const next = await log.offset('notes', 'latest')
    expect(await append(log, [10])).toEqual([next])
  })

  test('a topic without limits keeps everything, and so do other topics', async () => {
    await using subject = await open()
    await append(subject.log, range(0, 3))
    await subject.retain!(keep({}))
    await subject.retain!(defineTopic<Note>({ ...notes, name: 'absent', retention: { bytes: 0 } }))
    expect(await ids(subject.log)).toEqual([0, 1, 2])
  })

  test('what a reader has not settled stays, also for one that has only asked for its position', async () => {
    await using subject = await open()
    const { log } = subject
    const at: number[] = []
    for (const id of range(0, 10)) at.push(...(await append(log, [id])))
    const settle = (group: string, offsets: number[]) =>
      log.commit({ append: [], settle: offsets.map((offset) => ({ group, topic: 'notes', offset })) })
    await settle('fast', at.slice(0, 8))
    await settle('slow', [...at.slice(0, 3), at[5]!])
    await subject.retain!(keep({ bytes: 0 }))
    expect(await log.offset('notes', 'earliest')).toBe(at[3])
    expect(await log.position('slow', 'notes')).toEqual({ floor: at[3], beyond: [at[5]] })
    const fresh = await log.position('new', 'notes')
    expect(fresh).toEqual({ floor: at[3], beyond: [] })
    await settle('slow', [at[3]!, at[4]!, at[6]!])
    await subject.retain!(keep({ bytes: 0 }))
    expect(await log.offset('notes', 'earliest')).toBe(at[3])
    await settle('new', at.slice(3, 8))
    await subject.retain!(keep({ bytes: 0 }))
    expect(await log.offset('notes', 'earliest')).toBe(at[7])
    const again = await subject.reopen!()
    expect(await again.position('slow', 'notes')).toEqual({ floor: at[7], beyond: [] })
    expect(await ids(again, notes, at[7])).toEqual([7, 8, 9])
  })
}
