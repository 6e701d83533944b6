import { mkdtempSync, rmSync } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { open as openLmdb } from 'lmdb'
import { z } from 'zod'
import { openLog } from '../src/log/index.ts'
import { defineTopic, type Rollout, rollouts, type Topic } from '../topics/index.ts'
import { type Figure, median } from './figure.ts'

export const summary =
  'the embedded log: appends and range reads against raw lmdb, appends against synced JSON lines'

/** Records of one commit and of one batch of lmdb; also of one page that is read. */
const batch = 256

interface Shape<T> {
  readonly name: string
  readonly topic: Topic<T>
  readonly count: number
  value(i: number): T
  /** For JSON, which has no typed arrays. */
  plain(value: T): unknown
}

interface Event {
  readonly id: string
  readonly stage: string
  readonly step: number
  readonly reward: number
  readonly text: string
}

const events: Shape<Event> = {
  name: 'event of 200 bytes',
  topic: defineTopic<Event>({
    name: 'events',
    version: 1,
    schema: z.object({
      id: z.string(),
      stage: z.string(),
      step: z.int(),
      reward: z.number(),
      text: z.string(),
    }),
    key: (e) => e.id,
  }),
  count: 51_200,
  value: (i) => ({
    id: `event-${i}`,
    stage: 'math',
    step: i >> 6,
    reward: (i % 7) / 8,
    text: 'x'.repeat(130),
  }),
  plain: (value) => value,
}

const tokens = 256
const responses: Shape<Rollout> = {
  name: 'rollout of 256 tokens',
  topic: rollouts('math'),
  count: 12_800,
  value: (i) => ({
    id: `group-${i >> 3}:${i & 7}`,
    groupId: `group-${i >> 3}`,
    groupSize: 8,
    stage: 'math',
    domain: 'math',
    dataset: 'sums',
    promptId: `prompt-${i >> 3}`,
    epoch: 0,
    step: 1 + (i >> 7),
    admission: i >> 3,
    visit: 0,
    policyVersion: i >> 7,
    index: i & 7,
    promptTokens: Int32Array.from({ length: 32 }, (_, k) => (i + k) % 256),
    responseTokens: Int32Array.from({ length: tokens }, (_, k) => (i * 31 + k) % 256),
    responseLogprobs: Float32Array.from({ length: tokens }, (_, k) => -((i + k) % 17) / 10),
    logprobsMode: 'processed',
    lossMask: new Uint8Array(tokens).fill(1),
    versionSpans: [{ version: i >> 7, start: 0, end: tokens }],
    sampling: {
      temperature: 1,
      topP: 1,
      topK: 0,
      maxTokens: tokens,
      stopTokens: [0],
      logprobsMode: 'processed',
    },
    finishReason: 'stop',
    status: 'completed',
    promptText: 'p'.repeat(32),
    responseText: 'r'.repeat(tokens),
    groundTruth: { answer: i },
    verifier: 'math',
    timings: { queued: 0, generate: 12.5 },
  }),
  plain: (r) => ({
    ...r,
    promptTokens: [...r.promptTokens],
    responseTokens: [...r.responseTokens],
    responseLogprobs: [...r.responseLogprobs],
    lossMask: [...r.lossMask],
  }),
}

/** Records of a group: what arrives together and has to be durable before the next step counts on it. */
const group = 8
/** Groups under way at a time; their commits share transactions, which a file of lines has no way to. */
const groupsAtOnce = 64

interface Rates {
  append: number
  read: number
  /** Group by group, each acknowledged by itself. */
  groups: number
}

/**
 * Records a second, appended in batches that are durable one by one, and read back in pages from the page cache. All write the same
 * records in turns, and the median of the rounds is taken: a sync's time varies elevenfold with what else the machine does.
 * The peer is plain lmdb (`batch`, its own MessagePack encoding, the same `overlappingSync: false`); ours also validates, checks
 * sums, and carries keys, headers and timestamps. Against JSON lines both make each group of 8 records durable by itself.
 */
export async function* run(rounds = 5): AsyncGenerator<Figure> {
  for (const shape of [events, responses] as readonly Shape<unknown>[]) {
    const values = Array.from({ length: shape.count }, (_, i) => shape.value(i))
    const rates = { ours: [] as Rates[], lmdb: [] as Pick<Rates, 'append' | 'read'>[], lines: [] as number[] }
    const began = performance.now()
    for (let round = 0; round < rounds; round++) {
      rates.ours.push(await inFolder((dir) => ours(dir, shape, values)))
      rates.lmdb.push(await inFolder((dir) => lmdb(dir, values)))
      rates.lines.push(await inFolder((dir) => lines(dir, shape, values)))
    }
    const seconds = (performance.now() - began) / 1000
    const figure = (name: string, mine: number[], theirs: number[]): Figure => {
      const [own, peer] = [Math.round(median(mine)), Math.round(median(theirs))]
      const ratio = Number((own / peer).toFixed(2))
      return {
        bench: 'log',
        figure: `${name}, ${shape.name}`,
        ours: own,
        peer,
        ratio,
        unit: 'records/s',
        seconds,
      }
    }
    const both = (word: 'append' | 'read') =>
      [rates.ours.map((r) => r[word]), rates.lmdb.map((r) => r[word])] as const
    yield figure('append/lmdb', ...both('append'))
    yield figure('read/lmdb', ...both('read'))
    yield figure(
      'append/json-lines',
      rates.ours.map((r) => r.groups),
      rates.lines,
    )
  }
}

async function inFolder<R>(use: (dir: string) => Promise<R>): Promise<R> {
  const dir = mkdtempSync(join(tmpdir(), 'cascade-bench-'))
  try {
    return await use(dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function rate(count: number, work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return count / ((performance.now() - began) / 1000)
}

function checkCount(read: number, count: number): void {
  if (read !== count) throw new Error(`expected to read ${count} records, got ${read}`)
}

async function ours(dir: string, { topic }: Shape<unknown>, values: readonly unknown[]): Promise<Rates> {
  await using log = await openLog({ dir, mode: 'append', clock: { now: () => Date.now() } })
  const append = await rate(values.length, async () => {
    for (let i = 0; i < values.length; i += batch) {
      await log.commit({ append: values.slice(i, i + batch).map((value) => ({ topic, value })), settle: [] })
    }
  })
  const read = await rate(values.length, async () => {
    let next = 0
    while (next < values.length) {
      const page = await log.fetch(topic, next, { records: batch, bytes: Number.POSITIVE_INFINITY })
      next = page.next
    }
    checkCount(next, values.length)
  })
  const groups = await rate(values.length, async () => {
    let at = 0
    const commit = async (): Promise<void> => {
      while (at < values.length) {
        const slice = values.slice(at, at + group)
        at += group
        await log.commit({ append: slice.map((value) => ({ topic, value })), settle: [] })
      }
    }
    await Promise.all(Array.from({ length: groupsAtOnce }, commit))
  })
  return { append, read, groups }
}

async function lmdb(path: string, values: readonly unknown[]): Promise<Pick<Rates, 'append' | 'read'>> {
  const db = openLmdb<unknown, number>({
    path,
    noSubdir: false,
    overlappingSync: false,
    mapSize: 64 * 1024 ** 3,
  })
  const append = await rate(values.length, async () => {
    for (let i = 0; i < values.length; i += batch) {
      await db.batch(() => {
        for (let k = i; k < Math.min(i + batch, values.length); k++) void db.put(k, values[k])
      })
    }
  })
  const read = await rate(values.length, async () => {
    let count = 0
    for (let start = 0; start < values.length; start += batch) {
      count += [...db.getRange({ start, limit: batch })].length
      await Promise.resolve()
    }
    checkCount(count, values.length)
  })
  await db.close()
  return { append, read }
}

/** Every group is written and synced before the next. */
async function lines(dir: string, { plain }: Shape<unknown>, values: readonly unknown[]): Promise<number> {
  const file = await openFile(join(dir, 'log.jsonl'), 'a')
  const result = await rate(values.length, async () => {
    for (let i = 0; i < values.length; i += group) {
      const text = values.slice(i, i + group).map((value) => `${JSON.stringify(plain(value))}\n`)
      await file.appendFile(text.join(''))
      await file.sync()
    }
  })
  await file.close()
  return result
}
