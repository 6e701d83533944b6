import { firstValueFrom, lastValueFrom, toArray } from 'rxjs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../../src/model/engine/index.ts'
import { tokenizer } from '../../src/model/tokenizer/index.ts'
import { localPolicy } from '../../src/policy/local.ts'
import { versionedEngine } from '../../src/policy/versioned-engine.ts'
import type { TaskSource } from '../../src/tasks/source.ts'
import { CheckpointStore } from '../../src/update/checkpoint-store.ts'
import type { Prompt } from '../../topics/index.ts'
import { parts } from './parts.ts'

let engine: Engine
let source: TaskSource

beforeAll(async () => {
  ;({ engine, source } = await parts(true))
})

afterAll(() => engine[Symbol.asyncDispose]())

function policyAt(version: number) {
  return localPolicy(versionedEngine(engine, version), new CheckpointStore('nowhere'))
}

function prompt(policyVersion: number, change: Partial<Prompt> = {}): Prompt {
  const [held] = source.heldOut('math', 1)
  return {
    groupId: 'g',
    groupSize: 4,
    stage: 'math',
    domain: 'math',
    dataset: 'math',
    epoch: 0,
    step: 1,
    admission: 0,
    visit: 0,
    seed: 7,
    policyVersion,
    ...held!,
    sampling: {
      temperature: 1,
      topP: 1,
      topK: 0,
      maxTokens: 6,
      stopTokens: [...source.stopTokens],
      logprobsMode: 'processed',
    },
    ...change,
  }
}

test('each member of the group once, with its text, and the same again', async () => {
  const policy = policyAt(2)
  expect(policy.version).toBe(2)
  const rows = await lastValueFrom(policy.generate(prompt(2)).pipe(toArray()))
  expect(rows.map((r) => r.index).sort()).toEqual([0, 1, 2, 3])
  for (const { tokens, logprobs, text } of rows) {
    expect(logprobs).toHaveLength(tokens.length)
    expect(text).toBe(tokenizer.decode(tokens))
  }
  const again = await lastValueFrom(policy.generate(prompt(2)).pipe(toArray()))
  const byIndex = (list: typeof rows) =>
    list.map((row) => ({ ...row, generateMs: 0 })).sort((a, b) => a.index - b.index)
  expect(byIndex(again)).toEqual(byIndex(rows))
})

test.each([1, 3])('a prompt for version %i is not answered by version 2', async (wanted) => {
  await expect(firstValueFrom(policyAt(2).generate(prompt(wanted)))).rejects.toMatchObject({
    code: 'POLICY_VERSION',
    message: `group g: expected policy version ${wanted}, got version 2`,
  })
})

test('unsubscribing cancels the work: the engine goes on with the next group at once, and nothing comes after', async () => {
  const policy = policyAt(0)
  const sampling = { ...prompt(0).sampling, maxTokens: 40, stopTokens: [] }
  const seen: number[] = []
  const subscription = policy.generate(prompt(0, { sampling, groupSize: 200 })).subscribe({
    next: ({ index }) => seen.push(index),
    complete: () => seen.push(-1),
  })
  subscription.unsubscribe()
  const rows = await lastValueFrom(policy.generate(prompt(0)).pipe(toArray()))
  expect(rows).toHaveLength(4)
  expect(seen).toEqual([])
})
