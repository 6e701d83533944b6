import { copyFileSync, mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCredit } from '../../../streams/credit.ts'
import { follow } from '../../../streams/follow.ts'
import { source } from '../../../streams/source.ts'
import { deadLetters, isCascadeError } from '../../../topics/index.ts'
import { note, notes, others, range, readAll, rejection } from '../conformance/subject.ts'
import { append, read, temporaryFolder } from './folder.ts'

/** A log of 60 commits; its copies are what the tests damage. */
const whole = temporaryFolder()
/** Its database's pages; the file goes on with space reserved for more. */
let database: Buffer
let copies = 0
const text = (id: number) => String(id).repeat((id * 977) % 3000)

beforeAll(async () => {
  const log = await append(whole.path)
  for (const id of range(0, 60)) {
    const value = { id, text: text(id) }
    const settle = id === 10 ? [{ group: 'g', topic: 'notes', offset: 3 }] : []
    await log.commit({ append: [note(id, text(id)), { topic: others, value }], settle })
  }
  await log.close()
  const bytes = readFileSync(join(whole.path, 'data.mdb'))
  const used = bytes.findLastIndex((byte) => byte !== 0) + 1
  database = bytes.subarray(0, Math.ceil(used / 4096) * 4096)
})

afterAll(() => whole[Symbol.dispose]())

/** A copy of its own folder for each: a process that has mapped a file must not see it change. */
function copy(damage: (file: string) => void): string {
  const dir = join(whole.path, `copy-${copies++}`)
  mkdirSync(dir)
  copyFileSync(join(whole.path, 'log.json'), join(dir, 'log.json'))
  writeFileSync(join(dir, 'data.mdb'), database)
  damage(join(dir, 'data.mdb'))
  return dir
}

test('a truncated log is refused by name, wherever it was cut', async () => {
  for (const part of [0, 0.001, 0.1, 0.5, 0.9, 0.99]) {
    const dir = copy((file) => truncateSync(file, Math.floor(part * database.length)))
    for (const open of [read, append]) {
      expect(await rejection(open(dir), 'LOG_CORRUPT')).toMatch(join(dir, 'data.mdb'))
    }
  }
})

test('a file that is no database is refused by name', async () => {
  const dir = copy((file) => writeFileSync(file, 'hello '.repeat(5000)))
  expect(await rejection(read(dir), 'LOG_CORRUPT')).toMatch(join(dir, 'data.mdb'))
})

test('a damaged record is refused by topic and offset; those around it are read', async () => {
  const frame = Buffer.from(notes.encode({ id: 17, text: text(17) }))
  const dir = copy((file) => {
    const bytes = readFileSync(file)
    const at = bytes.indexOf(frame)
    expect(at).toBeGreaterThan(0)
    bytes[at + 40]! ^= 1
    // The other topic holds the same frame.
    expect(bytes.indexOf(frame, at)).toBeGreaterThan(0)
    writeFileSync(file, bytes)
  })
  await using log = await read(dir)
  const page = { records: 100, bytes: 1 << 20 }
  const first = await log.fetch(notes, 0, page)
  expect(first.records.map((r) => r.value.id)).toEqual(range(0, 17))
  expect(await rejection(log.fetch(notes, first.next, page), 'RECORD_CORRUPT')).toMatch('notes offset 17')
  expect((await readAll(log, notes, 18)).map((r) => r.value.id)).toEqual(range(18, 60))
  expect(await readAll(log, others)).toHaveLength(60)
})

test('a reader that wants them gets damaged records as dead letters, and all the others', async () => {
  const dir = copy((file) => {
    const bytes = readFileSync(file)
    const at = bytes.indexOf(notes.encode({ id: 17, text: text(17) }))
    bytes[at + 40]! ^= 1
    writeFileSync(file, bytes)
  })
  await using log = await append(dir)
  const credit = createCredit({ records: 1000, bytes: 1 << 24 })
  const all = source(log, notes, { group: 'h', credit, until: 'end', onDecodeError: 'dead-letter' })
  const deliveries = await lastValueFrom(all.pipe(toArray()))
  expect(deliveries.map((d) => d.value.value.id)).toEqual(range(0, 60).filter((id) => id !== 17))
  const letters = await readAll(log, deadLetters('notes'))
  expect(letters.map((l) => l.value)).toMatchObject([{ sourceOffset: 17, code: 'RECORD_CORRUPT' }])
  expect(letters[0]!.value.raw).toHaveLength(notes.encode({ id: 17, text: text(17) }).length)
})

test('reading leaves the event loop its turns', async () => {
  const folder = temporaryFolder()
  const log = await append(folder.path)
  await log.commit({ append: range(0, 20_000).map((id) => note(id)), settle: [] })
  const stop = new AbortController()
  const timer = setTimeout(() => stop.abort(new Error('in time')), 1)
  await expect(
    (async () => {
      for (;;) await follow(log, notes, { from: 0, until: 'end', signal: stop.signal }, () => undefined)
    })(),
  ).rejects.toThrow('in time')
  clearTimeout(timer)
  await log.close()
  folder[Symbol.dispose]()
})

test('whatever byte is changed: a log reads what was written, or says what is damaged', async () => {
  const pages = 8192
  const last = database.length
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: pages, max: last - 1 }),
      fc.integer({ min: 1, max: 255 }),
      async (at, xor) => {
        const dir = copy((file) => {
          const bytes = readFileSync(file)
          bytes[at]! ^= xor
          writeFileSync(file, bytes)
        })
        try {
          await using log = await read(dir)
          for (const topic of [notes, others]) {
            const records = await readAll(log, topic)
            expect(records.map((r) => r.value)).toEqual(range(0, 60).map((id) => ({ id, text: text(id) })))
          }
          expect(await log.position('g', 'notes')).toEqual({ floor: 0, beyond: [3] })
        } catch (error) {
          if (isCascadeError(error, 'LOG_CORRUPT')) {
            expect(error.message).toContain(join(dir, 'data.mdb'))
            return
          }
          if (!isCascadeError(error, 'RECORD_CORRUPT')) throw error
          expect(error.message).toMatch(/topic \S+ offset \d+/)
        }
      },
    ),
    { numRuns: 60 },
  )
})
