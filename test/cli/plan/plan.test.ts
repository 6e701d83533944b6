import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/cli/config.ts'
import { planOf } from '../../../src/cli/plan/plan.ts'
import { sourceOf } from '../../../src/cli/run/prompt-source.ts'

const rl = { kind: 'rl', domain: 'math', task: 'math', prompts: 4, groupSize: 2, maxTokens: 24, lr: 1e-4 }
const sft = {
  kind: 'sft',
  name: 'sft',
  domain: 'mixed',
  tasks: ['math', 'instruction'],
  steps: 10,
  batch: 8,
  lr: 1e-3,
}

async function planned(stages: unknown[], evaluation = { prompts: 16 }) {
  const config = parseConfig({ stages, evaluation }, 'c.ts')
  const source = await sourceOf(config, 0)
  return { plan: planOf(config, source), source }
}

test('each stage starts from the one before, with the counts of its config', async () => {
  const { plan, source } = await planned([
    sft,
    { ...rl, name: 'one', steps: 5 },
    { ...rl, name: 'two', refill: 2.5, steps: 3, exit: { seconds: 9 } },
  ])
  const prompt = source.limits('math').promptTokens
  expect(plan.stages.map((s) => [s.name, s.from, s.steps])).toEqual([
    ['sft', 'start', 10],
    ['one', 'sft', 5],
    ['two', 'one', 3],
  ])
  expect(plan.stages[1]).toMatchObject({
    rollouts: { least: 40, most: 40 },
    promptTokens: prompt,
    responseTokens: 24,
    sampledTokens: 40 * 24,
    trainedTokens: 40 * (prompt + 24),
    topics: ['prompts.math', 'rollouts.math', 'rewards.math', 'advantages.math'],
  })
  // Ten groups of at most a step are sampled, four of them trained on.
  expect(plan.stages[2]).toMatchObject({
    rollouts: { least: 24, most: 60 },
    sampledTokens: 60 * 24,
    trainedTokens: 24 * (prompt + 24),
    exit: { seconds: 9 },
  })
})

test('supervised stages are reckoned with the longest prompt and response of all tasks', async () => {
  const { plan, source } = await planned([sft])
  const sizes = ['math', 'instruction'].map((domain) => source.limits(domain))
  const longest =
    Math.max(...sizes.map((s) => s.promptTokens)) + Math.max(...sizes.map((s) => s.responseTokens))
  expect(plan.stages[0]).toMatchObject({ rollouts: { least: 0, most: 0 }, trainedTokens: 10 * 8 * longest })
})

test('every domain is scored before the first stage and after each', async () => {
  const { plan, source } = await planned([sft, { ...rl, name: 'one', steps: 5 }], { prompts: 20 })
  const responses = source.limits('math').responseTokens + source.limits('instruction').responseTokens
  expect(plan.evaluations).toEqual({
    domains: ['math', 'instruction'],
    prompts: 20,
    sampledTokens: 3 * 20 * responses,
  })
})
