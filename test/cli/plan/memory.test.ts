import { expect, test } from 'vitest'
import { parseConfig } from '../../../src/cli/config.ts'
import { memoryOf } from '../../../src/cli/plan/memory.ts'
import { modelOf } from '../../../src/cli/run-folder.ts'
import { tokenizer } from '../../../src/model/tokenizer/index.ts'
import { initWeights } from '../../../src/model/weights/init.ts'

const stage = {
  kind: 'rl',
  name: 'rl',
  domain: 'math',
  task: 'math',
  steps: 1,
  prompts: 4,
  groupSize: 2,
  maxTokens: 24,
  lr: 1e-4,
}

function planned(over: object = {}, klCoef = 0) {
  const config = parseConfig(
    {
      stages: [{ ...stage, klCoef }],
      model: { layers: 2, hidden: 64, heads: 4, kvHeads: 2, maxLength: 96 },
      ...over,
    },
    'c.ts',
  )
  const model = modelOf(config, tokenizer.vocabSize)
  return { model, memory: memoryOf(config, model) }
}

test('weights, gradients and moments are as many numbers as the model has', () => {
  const { model, memory } = planned()
  const numbers = [...initWeights(model, 0).values()].reduce((sum, w) => sum + w.length, 0)
  expect(memory).toMatchObject({
    parameters: numbers,
    weights: 4 * numbers,
    gradients: 4 * numbers,
    moments: 8 * numbers,
    reference: 0,
  })
})

test('a KL needs the weights that it is measured against', () => {
  const { memory } = planned({}, 0.03)
  expect(memory.reference).toBe(memory.weights)
})

test('keys and values: rows x positions x layers x both x heads x width, four bytes each', () => {
  const { memory } = planned({ engine: { decodeRows: 10 } })
  expect(memory.cache).toBe(10 * 96 * 2 * 2 * 2 * 16 * 4)
})

test('the total is the sum of its parts, and activations grow with the micro-batch', () => {
  const { memory } = planned({ engine: { microBatchTokens: 1000 } })
  const { parameters: _, total, ...parts } = memory
  expect(Object.values(parts).reduce((a, b) => a + b, 0)).toBe(total)
  expect(planned({ engine: { microBatchTokens: 2000 } }).memory.activations).toBe(2 * memory.activations)
})
