import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { lastValueFrom, tap } from 'rxjs'
import { z } from 'zod'
import { type EmbeddedLog, openLog } from '../src/log/index.ts'
import {
  type Append,
  batchDelivery,
  createCredit,
  groupDelivery,
  mapDelivery,
  sink,
  source,
} from '../streams/index.ts'
import { defineTopic } from '../topics/index.ts'
import type { Figure } from './figure.ts'

export const summary =
  'a million records of the embedded log through three operators, a stalled and then slow sink: buffers and heap'

interface Small {
  readonly id: number
  readonly text: string
}

const numbers = defineTopic<Small>({
  name: 'numbers',
  version: 1,
  schema: z.object({ id: z.int(), text: z.string() }),
  key: (s) => String(s.id),
})
const sums = defineTopic({ name: 'sums', version: 1, schema: z.object({ sum: z.number() }), key: () => '' })
const limit = { records: 2048, bytes: 64 * 1024 }
const megabyte = 1024 * 1024

/**
 * The most bytes that were ever in flight against the limit of the credit, and the heap after the last against the heap after the
 * first fifth of the records, both collected. The first commit stalls for a second; every fourth of the others waits a millisecond.
 *
 * @throws where a record is lost, or more is in flight than the limit
 */
export async function run(count = 1_000_000): Promise<Figure[]> {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  const dir = mkdtempSync(join(tmpdir(), 'cascade-bench-'))
  const began = performance.now()
  try {
    await using log = await openLog({ dir, mode: 'append', clock: { now: () => Date.now() }, window: 8192 })
    await fill(log, count)
    const credit = createCredit(limit)
    let commits = 0
    let written = 0
    let total = 0
    const heap: number[] = []
    const slow: Pick<EmbeddedLog, 'commit'> = {
      async commit(tx) {
        if (commits++ % 4 === 0) await new Promise((resolve) => setTimeout(resolve, commits === 1 ? 1000 : 1))
        return log.commit(tx)
      },
    }
    const flow = source(log, numbers, { group: 'sum', credit, until: 'end' }).pipe(
      mapDelivery((e) => e.value),
      groupDelivery({ size: 8, maxOpen: 64, key: (s: Small) => (s.id >> 6) * 8 + (s.id & 7) }),
      mapDelivery((members) => members.reduce((sum, m) => sum + m.id, 0)),
      batchDelivery(64),
      mapDelivery((batch) => [{ topic: sums, value: { sum: batch.reduce((a, b) => a + b, 0) } } as Append]),
      sink(Object.assign(Object.create(log) as EmbeddedLog, slow)),
      tap(({ deliveries }) => {
        for (const d of deliveries) {
          written += d.positions.length
          total += (d.value[0]!.value as { sum: number }).sum
        }
        if (heap.length < Math.floor((5 * written) / count)) {
          gc()
          heap.push(process.memoryUsage().heapUsed)
        }
      }),
    )
    await lastValueFrom(flow)
    if (written !== count || total !== (count * (count - 1)) / 2)
      throw new Error(`expected ${count} records, got ${written}`)
    if (credit.peak.bytes > limit.bytes)
      throw new Error(`expected at most ${limit.bytes} bytes, got ${credit.peak.bytes}`)
    const seconds = (performance.now() - began) / 1000
    const figure = (name: string, ours: number, peer: number, unit: string): Figure => {
      return {
        bench: 'pressure',
        figure: name,
        ours,
        peer,
        ratio: Number((peer / ours).toFixed(2)),
        unit,
        seconds,
      }
    }
    const mb = (bytes: number) => Number((bytes / megabyte).toFixed(2))
    return [
      figure('bytes in flight/limit', credit.peak.bytes, limit.bytes, 'bytes'),
      figure('heap at the end/after a fifth', mb(heap.at(-1)!), mb(heap[0]!), 'MB'),
    ]
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function fill(log: EmbeddedLog, count: number): Promise<void> {
  for (let from = 0; from < count; from += 10_000) {
    const append: Append[] = []
    for (let id = from; id < Math.min(from + 10_000, count); id++) {
      append.push({ topic: numbers, value: { id, text: `record ${id}` } } as Append)
    }
    await log.commit({ append, settle: [] })
  }
}
