import { expect } from 'vitest'
import { z } from 'zod'
import type { Append, Envelope, FetchLimit, TopicLog } from '../../../streams/ports.ts'
import { defineTopic, type ErrorCode, isCascadeError, type Topic } from '../../../topics/index.ts'

/** What a log can do besides the port; a test that needs it runs only where it is there. */
export type Ability =
  /** Stamps records with the time it is given. */
  | 'clock'
  /** Keeps its data when it is closed, and refuses to work afterwards. */
  | 'reopen'
  /** Hands out a second log on the same data that only reads. */
  | 'reader'
  /** Removes what retention lets go when it is told to. */
  | 'retain'
  /** Limits the size of a record to {@link Subject.maxRecordBytes}. */
  | 'limit'

export interface Subject extends AsyncDisposable {
  readonly log: TopicLog
  readonly clock?: { time: number }
  readonly maxRecordBytes?: number
  reopen?(): Promise<TopicLog>
  reader?(): Promise<TopicLog>
  retain?(topic: Topic<unknown>): Promise<void>
}

export interface Backend {
  readonly name: string
  readonly can: readonly Ability[]
  /** An empty log. */
  open(options?: { window?: number }): Promise<Subject>
}

export interface Note {
  readonly id: number
  readonly text: string
}

export const notes = defineTopic<Note>({
  name: 'notes',
  version: 1,
  schema: z.object({ id: z.int(), text: z.string() }),
  key: (note) => `key ${note.id}`,
})
export const others = defineTopic<Note>({ ...notes, name: 'others.math' })

export function note(id: number, text = `note ${id}`): Append {
  return { topic: notes, value: { id, text } }
}

export function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, i) => from + i)
}

export async function append(log: TopicLog, ids: readonly number[]): Promise<readonly number[]> {
  return (await log.commit({ append: ids.map((id) => note(id)), settle: [] })).offsets
}

export const page: FetchLimit = { records: 1000, bytes: 1 << 20 }

/** Every record from an offset to the end, page by page: offsets need not be dense. */
export async function readAll<T>(
  log: TopicLog,
  topic: Topic<T>,
  from = 0,
  limit: FetchLimit = page,
): Promise<Envelope<T>[]> {
  const records: Envelope<T>[] = []
  for (let next = from; ; ) {
    const fetched = await log.fetch(topic, next, limit)
    expect(fetched.records.length).toBeLessThanOrEqual(limit.records)
    if (fetched.records.length === 0) return records
    expect(fetched.next).toBeGreaterThan(fetched.records.at(-1)!.offset)
    records.push(...fetched.records)
    next = fetched.next
  }
}

export async function ids(log: TopicLog, topic: Topic<Note> = notes, from = 0): Promise<number[]> {
  return (await readAll(log, topic, from)).map((record) => record.value.id)
}

/** Awaits a rejection with that code and returns its message. */
export async function rejection(promise: Promise<unknown>, code: ErrorCode): Promise<string> {
  const error = await promise.then(
    (value) => expect.fail(`expected ${code}, got ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  )
  if (!isCascadeError(error)) throw error
  expect(error.code, error.message).toBe(code)
  return error.message
}
