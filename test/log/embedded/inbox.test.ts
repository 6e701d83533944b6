import { existsSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type EmbeddedLog, type InboxEntry, submit } from '../../../src/log/index.ts'
import type { CascadeError } from '../../../topics/index.ts'
import { ids, note, range, rejection } from '../conformance/subject.ts'
import { Child } from './child.ts'
import { append, read, temporaryFolder } from './folder.ts'

const kills = Number(process.env.CASCADE_KILLS ?? 4)

/** What is in the inbox now. */
async function pending(log: EmbeddedLog): Promise<InboxEntry[]> {
  const entries: InboxEntry[] = []
  const enough = new AbortController()
  const last = await submit(log.dir, 'last', {})
  for await (const entry of log.inbox(enough.signal)) {
    if (entry.id === last) enough.abort()
    else entries.push(entry)
  }
  await log.commit({ append: [], settle: [], inbox: [last] })
  return entries
}

function numbers(child: Child, word: string): number[] {
  return child.lines.filter((line) => line.startsWith(`${word} `)).map((line) => Number(line.split(' ')[1]))
}

test('a command of another process takes effect within 200 ms', async () => {
  using folder = temporaryFolder()
  await using taker = new Child('taker.ts', [folder.path])
  await taker.line((line) => line.startsWith('open'))
  await using sender = new Child('sender.ts', [folder.path, '0', '21', '100'])
  await taker.line((line) => line.startsWith('took 20'))
  const time = (child: Child, word: string) =>
    Number(child.lines.find((line) => line.startsWith(word))!.split(' ')[2])
  const delays = range(0, 21).map((n) => time(taker, `took ${n} `) - time(sender, `begin ${n} `))
  // From before the sender wrote it until the other process's transaction was durable; the middle one, since either may be held up.
  expect(delays.toSorted((a, b) => a - b)[10]).toBeLessThan(200)
})

test(
  `kill -9 of the sender and of the appending process: whole commands are taken once, half ones never`,
  async () => {
    using folder = temporaryFolder()
    await (await append(folder.path)).close()
    let from = 0
    const acknowledged: number[] = []
    for (let i = 0; i < kills; i++) {
      const sender = new Child('sender.ts', [folder.path, String(from), '1000000', '300000'])
      const taker = new Child('taker.ts', [folder.path])
      await sender.line((line) => line.startsWith('ack'))
      if (i % 2 === 0) await taker.line((line) => line.startsWith('took'))
      await setTimeout(Math.random() * 100)
      await sender.kill()
      await setTimeout(Math.random() * 30)
      await taker.kill()
      acknowledged.push(...numbers(sender, 'ack'))
      from = numbers(sender, 'begin').at(-1)! + 1
    }
    await using log = await append(folder.path)
    const left = await pending(log)
    const taken = await ids(log)
    const all = [...taken, ...left.map(({ payload }) => (payload as { n: number }).n)]
    expect(new Set(all).size).toBe(all.length)
    for (const n of acknowledged) expect(all).toContain(n)
    // Unacknowledged ones may have arrived, whole; at most one of each sender.
    expect(all.length).toBeLessThanOrEqual(acknowledged.length + kills)
    for (const { payload } of left) expect((payload as { filler: string }).filler).toHaveLength(300_000)
    expect(existsSync(join(folder.path, 'inbox', 'tmp'))).toBe(true)
    expect(readdirSync(join(folder.path, 'inbox', 'tmp'))).toEqual([])
    expect(readdirSync(join(folder.path, 'inbox', 'bad'))).toEqual([])
  },
  30_000 + kills * 5000,
)

test('commands come in the order of their submission and stay until a commit takes them', async () => {
  using folder = temporaryFolder()
  const first = await append(folder.path)
  const sent: string[] = []
  for (const n of range(0, 12))
    sent.push(await submit(folder.path, 'control', { n, bytes: new Uint8Array([n]) }))
  const entries = await pending(first)
  expect(entries.map((e) => e.id)).toEqual(sent)
  expect(entries[3]).toEqual({ id: sent[3], topic: 'control', payload: { n: 3, bytes: new Uint8Array([3]) } })
  await first.commit({ append: [note(0)], settle: [], inbox: sent.slice(0, 5) })
  await first.close()
  const again = await append(folder.path)
  expect((await pending(again)).map((e) => e.id)).toEqual(sent.slice(5))
  await again.close()
  expect(readdirSync(join(folder.path, 'inbox', 'new')).toSorted()).toEqual(sent.slice(5))
})

test('a command is taken once: the second commit that names it, or an unknown one, writes nothing', async () => {
  using folder = temporaryFolder()
  await using log = await append(folder.path)
  const [id, other] = [await submit(folder.path, 'control', {}), await submit(folder.path, 'control', {})]
  const results = await Promise.allSettled(
    range(0, 3).map((n) => log.commit({ append: [note(n)], settle: [], inbox: [id] })),
  )
  expect(results.map((r) => r.status)).toEqual(['fulfilled', 'rejected', 'rejected'])
  await rejection(log.commit({ append: [note(3)], settle: [], inbox: [id] }), 'STREAM_PROTOCOL')
  await rejection(log.commit({ append: [note(4)], settle: [], inbox: [other, other] }), 'STREAM_PROTOCOL')
  for (const unknown of ['unknown', '../tmp/x', '']) {
    await rejection(log.commit({ append: [note(5)], settle: [], inbox: [unknown] }), 'STREAM_PROTOCOL')
  }
  expect(await ids(log)).toEqual([0])
  expect((await pending(log)).map((e) => e.id)).toEqual([other])
})

test('a file that is no command is set aside with a warning, and the others are taken', async () => {
  using folder = temporaryFolder()
  const warnings: CascadeError[] = []
  await using log = await append(folder.path, { onWarning: (error) => warnings.push(error) })
  const whole = await submit(folder.path, 'control', {})
  const cut = await submit(folder.path, 'control', { text: 'abc' })
  truncateSync(join(folder.path, 'inbox', 'new', cut), 20)
  writeFileSync(join(folder.path, 'inbox', 'new', 'stray'), 'hello')
  expect((await pending(log)).map((e) => e.id)).toEqual([whole])
  expect(readdirSync(join(folder.path, 'inbox', 'bad')).toSorted()).toEqual([cut, 'stray'].toSorted())
  expect(warnings.map((w) => w.code)).toEqual(['RECORD_CORRUPT', 'RECORD_CORRUPT'])
  expect(warnings[0]!.message).toMatch(cut)
})

test('the inbox ends with its signal and with the log; readers have none', async () => {
  using folder = temporaryFolder()
  const log = await append(folder.path)
  const controller = new AbortController()
  const all = async (entries: AsyncIterable<InboxEntry>) => {
    const seen: InboxEntry[] = []
    for await (const entry of entries) seen.push(entry)
    return seen
  }
  const aborted = all(log.inbox(controller.signal))
  const closed = all(log.inbox(new AbortController().signal))
  controller.abort()
  expect(await aborted).toEqual([])
  await log.close()
  expect(await closed).toEqual([])
  await using reader = await read(folder.path)
  await rejection(all(reader.inbox(new AbortController().signal)), 'LOG_READ_ONLY')
})

test('a command for a folder without a log is refused', async () => {
  using folder = temporaryFolder()
  expect(await rejection(submit(folder.path, 'control', {}), 'RUN_NOT_FOUND')).toMatch(folder.path)
})
