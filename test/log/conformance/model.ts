import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Append, Commit, TopicLog } from '../../../streams/ports.ts'
import { type Backend, type Note, notes, others, readAll, rejection } from './subject.ts'

const topics = [notes, others] as const
const groups = ['a', 'b'] as const

interface ModelRecord {
  readonly id: number
  readonly text: string
  readonly header: string | undefined
  readonly offset: number
}

/** What the log should hold: its records, and for each reader what it has settled. */
class Model {
  readonly records = new Map<string, ModelRecord[]>(topics.map((t) => [t.name, []]))
  readonly settled = new Map<string, Set<number>>()
  nextId = 0

  of(group: string, topic: string): Set<number> {
    const key = `${group}/${topic}`
    let settled = this.settled.get(key)
    if (!settled) {
      settled = new Set()
      this.settled.set(key, settled)
    }
    return settled
  }
}

interface Write {
  readonly topic: 0 | 1
  readonly size: number
  readonly header: string | undefined
}

/** `pick` chooses among what is still open, or, where `again`, among what is settled already. */
interface Settle {
  readonly topic: 0 | 1
  readonly group: 0 | 1
  readonly pick: number
  readonly again: boolean
}

type Action =
  | {
      readonly kind: 'commit'
      readonly writes: readonly Write[]
      readonly settles: readonly Settle[]
      readonly bad: boolean
    }
  | {
      readonly kind: 'read'
      readonly topic: 0 | 1
      readonly from: number
      readonly records: number
      readonly bytes: number
    }
  | { readonly kind: 'reopen' }

const zeroOrOne = fc.constantFrom(0 as const, 1 as const)
const often = <T>(value: T, other: T) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant(value) }, { weight: 1, arbitrary: fc.constant(other) })
const write = fc.record<Write>({
  topic: zeroOrOne,
  size: fc.oneof({ weight: 8, arbitrary: fc.nat(50) }, { weight: 1, arbitrary: fc.nat(150_000) }),
  header: fc.option(fc.string({ maxLength: 5 }), { nil: undefined }),
})
const settle = fc.record<Settle>({
  topic: zeroOrOne,
  group: zeroOrOne,
  pick: fc.nat(),
  again: often(false, true),
})
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('commit' as const),
      writes: fc.array(write, { maxLength: 12 }),
      settles: fc.array(settle, { maxLength: 6 }),
      bad: often(false, true),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('read' as const),
      topic: zeroOrOne,
      from: fc.nat(),
      records: fc.integer({ min: 1, max: 20 }),
      bytes: fc.constantFrom(1, 100, 1 << 20),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'reopen' as const }) },
)

function commitOf(model: Model, { writes, settles, bad }: Extract<Action, { kind: 'commit' }>) {
  const records = writes.map(({ topic, size, header }) => ({
    topic: topics[topic],
    record: { id: model.nextId++, text: 'x'.repeat(size), header },
  }))
  const append: Append[] = records.map(({ topic, record }) => ({
    topic,
    value: { id: record.id, text: record.text },
    ...(record.header === undefined ? {} : { headers: { h: record.header } }),
  }))
  if (bad) append.push({ topic: notes, value: { id: 0.5, text: '' } })
  const tx: Commit & { settle: { group: string; topic: string; offset: number }[] } = { append, settle: [] }
  const taken = new Map<string, Set<number>>()
  let twice = false
  for (const { topic, group, pick, again } of settles) {
    const settled = model.of(groups[group], topics[topic].name)
    const key = `${group}/${topic}`
    const mine = taken.get(key) ?? new Set()
    const all = model.records.get(topics[topic].name)!.map((r) => r.offset)
    const choice = all.filter((offset) => settled.has(offset) === again && !mine.has(offset))
    if (choice.length === 0) continue
    const offset = choice[pick % choice.length]!
    twice ||= again
    mine.add(offset)
    taken.set(key, mine)
    tx.settle.push({ group: groups[group], topic: topics[topic].name, offset })
  }
  return {
    tx,
    records,
    refused: bad ? ('RECORD_INVALID' as const) : twice ? ('STREAM_PROTOCOL' as const) : undefined,
  }
}

async function runCommits(
  log: TopicLog,
  model: Model,
  actions: Extract<Action, { kind: 'commit' }>[],
): Promise<void> {
  // Those of one batch are called together; what they settle was written and is chosen before any of them.
  const open = actions.map((a) => commitOf(model, a))
  const seen = new Set<string>()
  const calls = open.map(async ({ tx, records, refused }) => {
    const clash = tx.settle.some((p) => seen.has(`${p.group}/${p.topic}/${p.offset}`))
    const wrong = refused ?? (clash ? ('STREAM_PROTOCOL' as const) : undefined)
    if (!wrong) for (const p of tx.settle) seen.add(`${p.group}/${p.topic}/${p.offset}`)
    const committed = log.commit(tx)
    if (wrong) return rejection(committed, wrong)
    const { offsets } = await committed
    records.forEach(({ topic, record }, i) =>
      model.records.get(topic.name)!.push({ ...record, offset: offsets[i]! }),
    )
    for (const p of tx.settle) model.of(p.group, p.topic).add(p.offset)
    return ''
  })
  await Promise.all(calls)
}

async function runRead(log: TopicLog, model: Model, a: Extract<Action, { kind: 'read' }>): Promise<void> {
  const topic = topics[a.topic]
  const all = model.records.get(topic.name)!
  const end = (all.at(-1)?.offset ?? -1) + 1
  const from = a.from % (end + 2)
  const { records } = await log.fetch(topic, from, { records: a.records, bytes: a.bytes })
  const wanted = all.filter((r) => r.offset >= from)
  expect(records.map((r) => r.offset)).toEqual(wanted.slice(0, records.length).map((r) => r.offset))
  expect(records.length).toBeGreaterThanOrEqual(Math.min(1, wanted.length))
}

/** All that was acknowledged is there, whole and in order, and nothing else. */
async function compare(log: TopicLog, model: Model): Promise<void> {
  for (const topic of topics) {
    const all = model.records.get(topic.name)!
    const read = await readAll<Note>(log, topic)
    const wanted = all.map(({ id, text, header, offset }) => ({
      offset,
      key: `key ${id}`,
      value: { id, text },
      headers: header === undefined ? {} : { h: header },
    }))
    expect(read.map(({ offset, key, value, headers }) => ({ offset, key, value, headers }))).toEqual(wanted)
    for (const group of groups) {
      const { floor, beyond } = await log.position(group, topic.name)
      const left = all.filter((r) => r.offset >= floor && !beyond.includes(r.offset)).map((r) => r.offset)
      const settled = model.of(group, topic.name)
      expect(left).toEqual(all.filter((r) => !settled.has(r.offset)).map((r) => r.offset))
    }
  }
}

export function modelTests({ open, can }: Backend): void {
  test('random commits, reads and restarts leave what a model of the log holds', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { minLength: 1, maxLength: 30 }), async (actions) => {
        await using subject = await open()
        const model = new Model()
        let { log } = subject
        let batch: Extract<Action, { kind: 'commit' }>[] = []
        for (const a of [...actions, undefined]) {
          if (a?.kind === 'commit') {
            batch.push(a)
            if (batch.length < 3) continue
          }
          await runCommits(log, model, batch)
          batch = []
          if (a?.kind === 'read') await runRead(log, model, a)
          else if (a?.kind === 'reopen' && can.includes('reopen')) {
            log = await subject.reopen!()
            await compare(log, model)
          }
        }
        await compare(log, model)
      }),
      { numRuns: 30 },
    )
  })
}
