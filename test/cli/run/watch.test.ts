import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createProgress, type ProgressEvent } from '../../../src/cli/output/progress.ts'
import { watch } from '../../../src/cli/run/watch.ts'
import { control, evaluations, updates } from '../../../topics/index.ts'
import { turns } from '../../streams/helpers.ts'
import { MemoryLog } from '../../streams/memory-log.ts'
import { MemoryOutput } from '../memory-output.ts'
import { sampleTransactions } from '../sample-run.ts'

const shown = new Map<string, 'control' | 'update' | 'evaluation'>([
  [control.name, 'control'],
  [updates.name, 'update'],
  [evaluations.name, 'evaluation'],
])

/** The records that progress is made of, one commit each, in the order of the sample run. */
const commits = sampleTransactions()
  .flat()
  .filter((a) => shown.has(a.topic.name))

/** A log whose reads take some turns each, and whose clock has stood still for `grain` records at a time. */
class SlowLog extends MemoryLog {
  readonly #turns: () => number
  readonly #grain: number

  constructor(grain: number, turns: () => number) {
    super()
    this.#turns = turns
    this.#grain = grain
  }

  override fetch: MemoryLog['fetch'] = async (topic, from, limit) => {
    await turns(this.#turns())
    const { records, next } = await super.fetch(topic, from, limit)
    await turns(this.#turns())
    return { next, records: records.map((r) => ({ ...r, timestamp: this.time(r.timestamp) })) }
  }

  time(timestamp: number): number {
    return Math.floor(timestamp / this.#grain) * this.#grain
  }
}

function output() {
  const stream = new MemoryOutput()
  const progress = createProgress({ stream, json: true, clock: { now: () => 0 }, interval: 0 })
  const seen: string[] = []
  const event = (e: ProgressEvent) => {
    if (e.type !== 'throughput') seen.push(`${e.type} ${e.type === 'control' ? e.record.seq : e.record.id}`)
    progress.event(e)
  }
  return { stream, seen, progress: { ...progress, event } }
}

/** What progress is told and shows of commits `from` and later, where they come in their own order. */
function inOrder(log: SlowLog, from: number) {
  const { stream, seen, progress } = output()
  for (const [i, { topic, value }] of commits.entries()) {
    const event = { type: shown.get(topic.name)!, record: value, timestamp: log.time(i + 1) } as ProgressEvent
    if (i < from) progress.past(event)
    else progress.event(event)
  }
  return { seen, lines: stream.lines() }
}

async function watched(log: SlowLog, from: number, pause: () => number) {
  const { stream, seen, progress } = output()
  for (const a of commits.slice(0, from)) await log.commit({ append: [a], settle: [] })
  const over = new AbortController()
  const follow = await watch(log, [], progress, over.signal)
  const ended = expect(follow()).rejects.toThrow('enough')
  for (const a of commits.slice(from)) {
    await log.commit({ append: [a], settle: [] })
    await turns(pause())
  }
  over.abort(new Error('enough'))
  await ended
  return { seen, lines: stream.lines() }
}

test('however slowly each topic is read, a run is shown in its own order, to its end', async () => {
  const draws = fc.infiniteStream(fc.nat(9)).map((s) => () => s.next().value as number)
  await fc.assert(
    fc.asyncProperty(draws, fc.nat(commits.length), async (draw, from) => {
      const log = new SlowLog(1, draw)
      expect(await watched(log, from, () => 9 * draw())).toEqual(inOrder(log, from))
    }),
    { numRuns: 50 },
  )
})

test('records of one millisecond: the scores of a stage come before its end, and the end of the run is last', async () => {
  const log = new SlowLog(1000, () => 0)
  const { lines } = await watched(log, 0, () => 0)
  const events = lines.map((l) => JSON.parse(l) as { event: string; stage?: string; scores?: unknown[] })
  const ends = events.filter((e) => e.event === 'stage-end')
  expect(ends).toHaveLength(3)
  for (const end of ends) {
    expect(end.scores).toHaveLength(2)
    const later = events.slice(events.indexOf(end) + 1).filter((e) => e.stage === end.stage)
    expect(later).toEqual([])
  }
  expect(events.at(-1)!.event).toBe('run-end')
})
