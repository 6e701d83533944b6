import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Engine } from '../../src/model/engine/index.ts'
import { localEvaluator } from '../../src/policy/evaluator.ts'
import { versionedEngine } from '../../src/policy/versioned-engine.ts'
import { wilson } from '../../src/policy/wilson.ts'
import type { HeldOutPrompt, TaskSource } from '../../src/tasks/source.ts'
import type { ConfiguredVerifiers } from '../../src/verifiers/configured/verifiers.ts'
import type { Checkpoint } from '../../topics/index.ts'
import { configured } from '../verifiers/configured/helpers.ts'
import { parts } from './parts.ts'

let engine: Engine
let source: TaskSource
let verifiers: ConfiguredVerifiers
const checkpoint = { id: 'c', version: 4, stage: 'sft' } as Checkpoint

beforeAll(async () => {
  ;({ engine, source } = await parts(false))
  verifiers = await configured(['sum', 'wording'])
})

afterAll(async () => {
  await verifiers[Symbol.asyncDispose]()
  await engine[Symbol.asyncDispose]()
})

function evaluatorOf(options: {
  prompts?: number
  version?: number
  source?: TaskSource
  signal?: AbortSignal
}) {
  const { prompts = 3, version = 4, signal = new AbortController().signal } = options
  const versioned = versionedEngine(engine, version)
  const clock = { now: () => 0 }
  return localEvaluator({ versioned, source: options.source ?? source, prompts, verifiers, clock, signal })
}

/** The same tasks, but prompts that claim something else to be judged by. */
const judged = (change: Partial<HeldOutPrompt>): TaskSource => ({
  ...source,
  heldOut: (domain, count) => source.heldOut(domain, count).map((p) => ({ ...p, ...change })),
})

test('score, interval and verdicts agree, and 128 prompts twice are judged alike', async () => {
  const evaluator = evaluatorOf({ prompts: 128 })
  const first = await evaluator.evaluate(checkpoint, 'sft', 'math')
  const { n, passed, score, verdicts } = first
  expect(first).toMatchObject({
    id: 'sft/math',
    version: 4,
    checkpoint: 'c',
    metric: 'greedy-accuracy',
    n: 128,
  })
  expect([verdicts!.length, verdicts!.reduce((a, b) => a + b, 0)]).toEqual([n, passed])
  expect(score).toBe(passed / n)
  expect(first.interval).toEqual(wilson(score, n))
  expect(await evaluator.evaluate(checkpoint, 'sft', 'math')).toEqual(first)
})

test.each([
  ['a truth that its verifier cannot read', { groundTruth: { nothing: 1 } }, /evaluation of .*: /],
  [
    'a verifier that is not there',
    { verifier: 'palm-reading' },
    /evaluation of .*: verifier: expected one of .*, got palm-reading/,
  ],
])('%s is an error, never a wrong answer', async (_, change, message) => {
  const evaluator = evaluatorOf({ source: judged(change) })
  const evaluation = evaluator.evaluate(checkpoint, 'sft', 'math')
  await expect(evaluation).rejects.toMatchObject({
    code: 'VERIFIER_FAILED',
    message: expect.stringMatching(message) as string,
  })
})

test('other weights than the checkpoint are refused', () =>
  expect(evaluatorOf({ version: 5 }).evaluate(checkpoint, 'sft', 'math')).rejects.toMatchObject({
    code: 'POLICY_VERSION',
    message: 'evaluation of math after sft: expected version 4, got 5',
  }))

test('an abort ends it with its reason', async () => {
  const abort = new AbortController()
  const evaluation = evaluatorOf({ prompts: 512, signal: abort.signal }).evaluate(checkpoint, 'sft', 'math')
  abort.abort(new Error('enough'))
  await expect(evaluation).rejects.toThrow('enough')
})
