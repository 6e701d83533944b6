import { expect, test } from 'vitest'
import { demonstrationRecords, promptRecords } from '../../streams/admissions.ts'
import { groupId } from '../../streams/group-id.ts'
import { rlStage, sftStage } from './stages.ts'
import { arithmetic } from './world.ts'

const options = { runId: 'run-1', seed: 7, source: arithmetic }

test('a prompt carries its place in the run, what it was sampled for and how', () => {
  const stage = rlStage({
    prompts: 2,
    temperature: 0.6,
    topP: 0.9,
    topK: 5,
    logprobsMode: 'raw',
    groupSize: 3,
  })
  const records = promptRecords({ type: 'admit', stage, step: 4, first: 9, count: 2, version: 12 }, options)
  expect(records.map((r) => r.topic.name)).toEqual(['prompts.math', 'prompts.math'])
  expect(records[1]!.value).toEqual({
    ...arithmetic.prompt(stage, 10),
    groupId: groupId('run-1', 'math', 10),
    groupSize: 3,
    stage: 'math',
    domain: 'math',
    step: 4,
    admission: 10,
    policyVersion: 12,
    sampling: { temperature: 0.6, topP: 0.9, topK: 5, maxTokens: 8, logprobsMode: 'raw', stopTokens: [0] },
    seed: 7,
  })
  for (const { topic, value } of records) expect(topic.decode(topic.encode(value))).toEqual(value)
})

test('the second visit of a prompt is another group', () => {
  const stage = rlStage()
  const records = promptRecords(
    { type: 'admit', stage, step: 1, first: 0, count: arithmetic.pool * 2, version: 0 },
    options,
  ).map((r) => r.value)
  const again = records[arithmetic.pool]!
  expect([again.promptId, again.visit, again.epoch]).toEqual([records[0]!.promptId, 1, 1])
  expect(new Set(records.map((r) => r.groupId)).size).toBe(records.length)
})

test('a demonstration carries its step and its admission', () => {
  const stage = sftStage()
  const records = demonstrationRecords(
    {
      type: 'demonstrate',
      stage,
      step: 3,
      first: 4,
      count: 2,
      baseVersion: 2,
      opens: false,
      settings: undefined,
    },
    options,
  )
  expect(records.map((r) => r.value)).toEqual(
    [4, 5].map((admission) => ({
      ...arithmetic.demonstration(stage, admission),
      id: groupId('run-1', 'sft', admission),
      stage: 'sft',
      step: 3,
      admission,
    })),
  )
  for (const { topic, value } of records) expect(topic.decode(topic.encode(value))).toEqual(value)
})
