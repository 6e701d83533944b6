import { beforeEach, expect, test } from 'vitest'
import type { Append } from '../../streams/ports.ts'
import { type BatchClosed, control, demonstrations } from '../../topics/index.ts'
import { MemoryLog } from './memory-log.ts'
import { packed, rowsOf } from './packing.ts'
import { closed, controlWriter, sftStage } from './stages.ts'
import { arithmetic } from './world.ts'

let log: MemoryLog
beforeEach(() => {
  log = new MemoryLog()
})

const append = (...list: { topic: unknown; value: unknown }[]) =>
  log.commit({ append: list as Append[], settle: [] })

const stage = sftStage()
const demonstrated = (count: number) =>
  append(
    ...Array.from({ length: count }, (_, admission) => ({
      topic: demonstrations,
      value: {
        ...arithmetic.demonstration(stage, admission),
        responseTokens: new Int32Array(admission + 1).fill(admission + 1),
        id: `d${admission}`,
        stage: 'sft',
        step: 1,
        admission,
      },
    })),
  )
const sft = (demonstrations: BatchClosed['demonstrations']) =>
  append({ topic: control, value: controlWriter()(closed({ stage: 'sft', demonstrations })) })

test('a supervised step trains its own demonstrations, every response token alike', async () => {
  await demonstrated(5)
  await sft({ from: 1, to: 4 })
  const [batch] = await packed(log, stage)
  expect(batch!.members).toEqual(['d1', 'd2', 'd3'])
  // Responses of 2, 3 and 4 tokens.
  expect(rowsOf(batch!)).toEqual(
    [4, 3, 2].map((n) => ({
      tokens: [1, 2, ...Array<number>(n).fill(n)],
      mask: [0, 0, ...Array<number>(n).fill(1)],
      weight: Math.fround(1 / 9),
      old: undefined,
    })),
  )
  expect(batch!.options).toMatchObject({ temperature: 1, klCoef: 0, objective: 'likelihood' })
})

test('a supervised step with empty responses alone is a batch without a trained token', async () => {
  const value = {
    ...arithmetic.demonstration(stage, 0),
    responseTokens: new Int32Array(0),
    id: 'd0',
    stage: 'sft',
    step: 1,
    admission: 0,
  }
  await append({ topic: demonstrations, value })
  await sft({ from: 0, to: 1 })
  const [batch] = await packed(log, stage)
  expect(batch).toMatchObject({ baseVersion: 0, version: 1 })
  expect(rowsOf(batch!)).toEqual([{ tokens: [1, 2], mask: [0, 0], weight: 0, old: undefined }])
})

test('a supervised step is cut into rectangles by the plan', async () => {
  await demonstrated(4)
  await sft({ from: 0, to: 4 })
  const [batch] = await packed(log, stage, 12)
  expect(batch!.microBatches.map((m) => [m.rows, m.cols])).toEqual([
    [2, 6],
    [2, 4],
  ])
})

test.each<[string, BatchClosed['demonstrations'], string]>([
  ['that names none', undefined, 'STREAM_PROTOCOL'],
  ['that names some that are not there', { from: 0, to: 9 }, 'LOG_OFFSET_GONE'],
])('a supervised step %s is refused', async (_, range, code) => {
  await demonstrated(2)
  await sft(range)
  await expect(packed(log, stage)).rejects.toMatchObject({ code })
})
