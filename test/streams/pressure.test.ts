import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { lastValueFrom, tap } from 'rxjs'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { batchDelivery } from '../../streams/batch-delivery.ts'
import { createCredit } from '../../streams/credit.ts'
import { groupDelivery } from '../../streams/group-delivery.ts'
import { mapDelivery } from '../../streams/map-delivery.ts'
import type { Append } from '../../streams/ports.ts'
import { sink } from '../../streams/sink.ts'
import { source } from '../../streams/source.ts'
import { defineTopic } from '../../topics/index.ts'
import { type Small, smalls } from './helpers.ts'
import { NumbersLog } from './numbers-log.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const million = 1_000_000
const topic = smalls('numbers')
const sums = defineTopic({ name: 'sums', version: 1, schema: z.object({ sum: z.number() }), key: () => '' })
const macrotask = () => new Promise<void>((resolve) => setImmediate(resolve))

test('a million records, a stalled and then slow sink: bytes in flight stay within the window, the heap flat', async () => {
  const credit = createCredit({ records: 2048, bytes: 64 * 1024 })
  const groups = { size: 8, maxOpen: 64, key: (s: Small) => (s.id >> 6) * 8 + (s.id & 7) }
  let open!: () => void
  const stalled = new Promise<void>((resolve) => {
    open = resolve
  })
  let commits = 0
  const log = new NumbersLog<Small>({
    topic: topic.name,
    count: million,
    bytes: 48,
    value: (id) => ({ id, text: `record ${id}` }),
    window: 8192,
    async beforeCommit() {
      commits += 1
      if (commits === 1) await stalled
      else if (commits % 4 === 0) await macrotask()
    },
  })
  let handedOut = 0
  let total = 0
  let written = 0
  const heap: number[] = []
  const flow = source(log, topic, { group: 'sum', credit, until: 'end' }).pipe(
    tap(() => {
      handedOut += 1
    }),
    mapDelivery((e) => e.value),
    groupDelivery(groups),
    mapDelivery((members) => members.reduce((sum, m) => sum + m.id, 0)),
    batchDelivery(64),
    mapDelivery((batch) => [{ topic: sums, value: { sum: batch.reduce((a, b) => a + b, 0) } } as Append]),
    sink(log),
    tap(({ deliveries }) => {
      for (const d of deliveries) {
        written += d.positions.length
        total += (d.value[0]!.value as { sum: number }).sum
      }
      if (heap.length < Math.floor(written / 200_000)) {
        gc()
        heap.push(process.memoryUsage().heapUsed)
      }
    }),
  )
  const done = lastValueFrom(flow)
  for (let i = 0; i < 50; i++) await macrotask()
  const atStall = handedOut
  for (let i = 0; i < 50; i++) await macrotask()
  // All credit is out, and what gave its own back sits in groups: nothing more is read.
  expect(handedOut).toBe(atStall)
  expect(handedOut).toBeLessThanOrEqual(log.window)
  expect(commits).toBe(1)
  open()
  await done
  expect(written).toBe(million)
  expect(total).toBe((million * (million - 1)) / 2)
  expect(await log.position('sum', topic.name)).toEqual({ floor: million, beyond: [] })
  expect(credit.peak.bytes).toBeLessThanOrEqual(credit.limit.bytes)
  expect(credit.peak.records).toBeLessThanOrEqual(credit.limit.records)
  expect(credit.inUse).toEqual({ records: 0, bytes: 0 })
  // The first sample may still hold what is compiled once; afterwards only the outputs' frames may grow.
  expect(heap.length).toBe(5)
  expect(Math.max(...heap.slice(1)) - heap[1]!).toBeLessThan(2 * 1024 * 1024)
})
