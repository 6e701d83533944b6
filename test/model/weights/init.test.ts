import { expect, test } from 'vitest'
import { parameters } from '../../../src/model/config.ts'
import { initWeights } from '../../../src/model/weights/init.ts'
import { tinyConfig } from '../tiny.ts'

const wide = { ...tinyConfig, hidden_size: 64, intermediate_size: 128 }

test('starting weights depend on seed and name alone', () => {
  expect(initWeights(wide, 1)).toStrictEqual(initWeights(wide, 1))
  const deeper = initWeights({ ...wide, num_hidden_layers: 3, tie_word_embeddings: true }, 1)
  for (const name of ['embed', 'layers.1.qkv']) {
    expect(deeper.get(name)).toStrictEqual(initWeights(wide, 1).get(name))
    expect(initWeights(wide, 2).get(name)).not.toStrictEqual(initWeights(wide, 1).get(name))
  }
  expect(initWeights(wide, 1).get('layers.0.qkv')).not.toStrictEqual(initWeights(wide, 1).get('layers.1.qkv'))
})

test('starting weights have the spread that each parameter asks for', () => {
  const weights = initWeights(wide, 3)
  for (const { name, shape, init } of parameters(wide)) {
    const values = weights.get(name)!
    expect(values.length).toBe(shape.reduce((a, b) => a * b, 1))
    if (init === 'ones') expect(values.every((v) => v === 1)).toBe(true)
    else {
      const mean = values.reduce((a, b) => a + b, 0) / values.length
      const spread = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2, 0) / values.length)
      // Five standard errors.
      expect(Math.abs(mean)).toBeLessThan((5 * init) / Math.sqrt(values.length))
      expect(Math.abs(spread / init - 1)).toBeLessThan(5 / Math.sqrt(2 * values.length))
    }
  }
})
