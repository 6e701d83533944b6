import { bufferCount, groupBy, lastValueFrom, map, mergeMap, range, reduce, skip, toArray } from 'rxjs'
import { z } from 'zod'
import {
  type Append,
  batchDelivery,
  createCredit,
  groupDelivery,
  mapDelivery,
  sink,
  source,
} from '../streams/index.ts'
import { NumbersLog } from '../test/streams/numbers-log.ts'
import { CascadeError, defineTopic } from '../topics/index.ts'
import { type Figure, median } from './figure.ts'
import { runPeer } from './peers/python.ts'

export const summary =
  'a million records through map, groups of 8, batches of 64: against bare RxJS and Bytewax'

/**
 * Records a second through map, groups of 8 and batches of 64. Ours reads them in pages against credit and settles every one in
 * a commit; bare RxJS and Bytewax (one worker, no recovery store) do the same work without either. Runs are interleaved and
 * the median of five is taken. `PEERS_PYTHON` names a Python with `pip install bytewax==0.21.1`.
 */
export async function run(count = 1_000_000, rounds = 5): Promise<Figure[]> {
  const contenders = { ours, rxjs: bare, bytewax }
  const rates = { ours: [] as number[], rxjs: [] as number[], bytewax: [] as number[] }
  // The peer first: where it is missing that shows at once.
  for (const name of ['bytewax', 'rxjs', 'ours'] as const) await contenders[name](warmUp)
  const began = performance.now()
  for (let round = 0; round < rounds; round++) {
    for (const name of ['ours', 'rxjs', 'bytewax'] as const)
      rates[name].push(count / (await contenders[name](count)))
  }
  const seconds = (performance.now() - began) / 1000
  const mine = Math.round(median(rates.ours))
  return (['rxjs', 'bytewax'] as const).map((name) => {
    const peer = Math.round(median(rates[name]))
    const ratio = Number((mine / peer).toFixed(2))
    return {
      bench: 'operators',
      figure: `map-group-batch/${name}`,
      ours: mine,
      peer,
      ratio,
      unit: 'records/s',
      seconds,
    }
  })
}

/** A multiple of 64, as every count must be: groups are whole then. */
const warmUp = 128_000
const group = (id: number) => (id >> 6) * 8 + (id & 7)
const maxOpen = 64

interface Small {
  readonly id: number
}
const topic = defineTopic<Small>({
  name: 'numbers',
  version: 1,
  schema: z.object({ id: z.int() }),
  key: (s) => String(s.id),
})
const nothing: readonly Append[] = []

/** Seconds for `count` records. */
async function ours(count: number): Promise<number> {
  const credit = createCredit({ records: 4096, bytes: 1024 * 1024 })
  const log = new NumbersLog<Small>({
    topic: topic.name,
    count,
    bytes: 32,
    value: (id) => ({ id }),
    window: 16_384,
  })
  const began = performance.now()
  let sum = 0
  const flow = source(log, topic, { group: 'bench', credit, until: 'end' }).pipe(
    mapDelivery((e) => ({ key: group(e.value.id), amount: e.value.id * 2 })),
    groupDelivery<{ key: number; amount: number }>({ size: 8, maxOpen, key: (r) => r.key }),
    mapDelivery((members) => members.reduce((s, m) => s + m.amount, 0)),
    batchDelivery(64),
    mapDelivery((batch) => {
      sum += batch.reduce((s, n) => s + n, 0)
      return nothing
    }),
    sink(log),
  )
  await lastValueFrom(flow)
  const seconds = (performance.now() - began) / 1000
  const { floor } = await log.position('bench', topic.name)
  if (floor !== count)
    throw new CascadeError('STREAM_PROTOCOL', `expected ${count} settled records, got ${floor}`)
  return checked('ours', sum, count, seconds)
}

/** The same in RxJS alone. Without its duration, `groupBy` would keep every group for ever. */
async function bare(count: number): Promise<number> {
  const began = performance.now()
  const flow = range(0, count).pipe(
    map((id): Small => ({ id })),
    map((r) => ({ key: group(r.id), amount: r.id * 2 })),
    groupBy((r) => r.key, { duration: (members) => members.pipe(skip(7)) }),
    mergeMap((members) => members.pipe(toArray()), maxOpen),
    map((members) => members.reduce((s, m) => s + m.amount, 0)),
    bufferCount(64),
    reduce((sum, batch) => sum + batch.reduce((s, n) => s + n, 0), 0),
  )
  const sum = await lastValueFrom(flow)
  return checked('rxjs', sum, count, (performance.now() - began) / 1000)
}

async function bytewax(count: number): Promise<number> {
  const stdout = await runPeer('bytewax_flow.py', [String(count)], ['bytewax==0.21.1'])
  const { seconds, sum } = z.object({ seconds: z.number(), sum: z.number() }).parse(JSON.parse(stdout))
  return checked('bytewax', sum, count, seconds)
}

function checked(name: string, sum: number, count: number, seconds: number): number {
  const expected = count * (count - 1)
  if (sum !== expected)
    throw new CascadeError('STREAM_PROTOCOL', `${name}: expected the sum ${expected}, got ${sum}`)
  return seconds
}
