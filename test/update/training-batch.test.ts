import { expect, test } from 'vitest'
import { trainingBatch } from '../../src/update/training-batch.ts'
import { batch } from './helpers.ts'

test('lengths become padding, and a weight a row one a token', () => {
  const record = batch(1).microBatches[0]!
  const { rows, cols, tokens, valid, lossMask, weights, ...others } = trainingBatch(record)
  expect([rows, cols, tokens, lossMask]).toEqual([2, 6, record.tokens, record.lossMask])
  expect(Array.from(valid)).toEqual([1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0])
  expect(Array.from(weights)).toEqual([...Array(6).fill(0.25), ...Array(6).fill(-0.125)])
  expect(others).toEqual({})
})

test('log-probabilities go along where they are recorded', () => {
  const oldLogprobs = new Float32Array(12).fill(-1)
  const refLogprobs = new Float32Array(12).fill(-2)
  const made = trainingBatch({ ...batch(1).microBatches[0]!, oldLogprobs, refLogprobs })
  expect(made).toMatchObject({ oldLogprobs, refLogprobs })
})
