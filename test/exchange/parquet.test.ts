import { parquetMetadata, parquetReadObjects, parquetSchema } from 'hyparquet'
import { ByteWriter, ParquetWriter } from 'hyparquet-writer'
import { expect, test } from 'vitest'
import type { ForeignRollout } from '../../src/exchange/index.ts'
import { columns, columnsOf, schema } from '../../src/exchange/parquet.ts'
import { recordsOf } from '../../src/exchange/records.ts'

const of = { run: 'r', stage: 'imported', domain: 'math', dataset: 'd', verifier: 'v' }

async function written(group: readonly ForeignRollout[]) {
  const records = recordsOf(group, of, { step: 3, admission: 5 })
  const judged = records.rewards(0)
  const rows = records.rollouts.map((rollout) => ({
    rollout,
    reward: judged.find((r) => r.id === rollout.id),
  }))
  const writer = new ByteWriter()
  const parquet = new ParquetWriter({ writer, schema })
  await parquet.write({ columnData: columnsOf(rows) as never })
  await parquet.finish()
  return writer.getBuffer()
}

const group: ForeignRollout[] = [
  {
    prompt: 'q 😀',
    response: 'a',
    promptTokens: Int32Array.of(1, 2),
    responseTokens: Int32Array.of(3, 151_935),
    logprobs: Float32Array.of(-0.1, -1e-9),
    lossMask: Uint8Array.of(1, 0),
    groundTruth: { answer: [1, '2'] },
    finishReason: 'length',
    policyVersion: 4,
    reward: { outcome: 'score', score: 0.1, detail: { x: 1 } },
  },
  { prompt: 'q 😀', response: 'b', reward: { outcome: 'error', reason: 'VERIFIER_TIMEOUT' } },
  { prompt: 'q 😀', response: '', responseTokens: new Int32Array(0), logprobs: new Float32Array(0) },
]

test('tokens and log-probabilities are lists, what is unknown is null, JSON is text', async () => {
  const file = await written(group)
  const [first, second, third] = await parquetReadObjects({ file })
  expect(first).toMatchObject({
    index: 0,
    group_size: 3,
    prompt: 'q 😀',
    reward: 0.1,
    outcome: 'score',
    policy_version: 4,
    ground_truth: '{"answer":[1,"2"]}',
    detail: '{"x":1}',
    finish_reason: 'length',
    status: 'truncated',
    prompt_tokens: [1, 2],
    response_tokens: [3, 151_935],
    response_logprobs: [Math.fround(-0.1), Math.fround(-1e-9)],
    loss_mask: [1, 0],
    verifier: 'v',
  })
  expect(second).toMatchObject({
    reward: null,
    outcome: 'error',
    reason: 'VERIFIER_TIMEOUT',
    ground_truth: null,
    sampling: null,
  })
  for (const list of ['response_tokens', 'response_logprobs', 'prompt_tokens'])
    expect(second![list] ?? null).toBeNull()
  expect(third).toMatchObject({ response: '', response_tokens: [], response_logprobs: [], outcome: null })
})

test('the columns have the types that readers expect', async () => {
  const { children } = parquetSchema(parquetMetadata(await written(group)))
  expect(children.map((c) => c.element.name)).toEqual(columns.map((c) => c.name))
  const shape = (name: string) => {
    const column = children.find((c) => c.element.name === name)!
    const list = column.children[0]
    return list
      ? [column.element.converted_type, list.element.name, list.children[0]!.element.type]
      : column.element.type
  }
  expect(shape('response_tokens')).toEqual(['LIST', 'list', 'INT32'])
  expect(shape('response_logprobs')).toEqual(['LIST', 'list', 'FLOAT'])
  expect(shape('reward')).toBe('DOUBLE')
})

test('no rows are a file too', async () => {
  const writer = new ByteWriter()
  const parquet = new ParquetWriter({ writer, schema })
  await parquet.finish()
  expect(await parquetReadObjects({ file: writer.getBuffer() })).toEqual([])
})
