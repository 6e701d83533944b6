import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { ModelConfig } from '../../../src/model/config.ts'
import { packRows } from '../../../src/model/train/batch.ts'
import {
  type MicroBatch,
  type StepResult,
  Trainer,
  type UpdateOptions,
} from '../../../src/model/train/trainer.ts'
import { decodeCheckpoint } from '../../../src/model/weights/checkpoint.ts'
import { expectClose, minus, tensorsOf, tolerance } from '../close.ts'
import { oneThread } from '../tiny.ts'

// The numbers come from fixtures/make.py.

type Steps = { options: UpdateOptions; batch: Record<string, number[]>; steps: StepResult[] }

function load(kind: string) {
  const read = (name: string) => readFileSync(new URL(`./fixtures/${kind}/${name}`, import.meta.url))
  const names = ['config.json', 'model.safetensors']
  const { config, state } = decodeCheckpoint(new Map(names.map((name) => [name, read(name)])))
  const { options, batch, steps } = JSON.parse(read('steps.json').toString()) as Steps
  const tensors = (file: string, prefix: string) => tensorsOf(config, read(file), file, prefix)
  return { config, weights: state.weights, options, batch: toBatch(batch), steps, tensors }
}

function toBatch(b: Record<string, unknown>): MicroBatch {
  const list = (name: string) => b[name] as number[]
  return {
    rows: b.rows as number,
    cols: b.cols as number,
    tokens: Int32Array.from(list('tokens')),
    valid: Uint8Array.from(list('valid')),
    lossMask: Uint8Array.from(list('lossMask')),
    weights: Float32Array.from(list('weights')),
    oldLogprobs: Float32Array.from(list('oldLogprobs')),
    refLogprobs: Float32Array.from(list('refLogprobs')),
  }
}

/** Rows `from` to `to` of a batch. */
function rowsOf(b: MicroBatch, from: number, to: number): MicroBatch {
  const cut = <T extends { slice(a: number, b: number): T }>(array: T) =>
    array.slice(from * b.cols, to * b.cols)
  return {
    rows: to - from,
    cols: b.cols,
    tokens: cut(b.tokens),
    valid: cut(b.valid),
    lossMask: cut(b.lossMask),
    weights: cut(b.weights),
    oldLogprobs: cut(b.oldLogprobs!),
    refLogprobs: cut(b.refLogprobs!),
  }
}

describe.each([
  ['untied embeddings', 'untied', false],
  ['tied embeddings', 'tied', false],
  ['shared prompts', 'shared', true],
])('steps in PyTorch, %s', (_, kind, shares) => {
  const { config, weights, options, batch, steps, tensors } = load(kind)
  const threeParts = [rowsOf(batch, 0, 1), rowsOf(batch, 1, 4), rowsOf(batch, 4, 6)]
  const trainer = () => new Trainer(config as ModelConfig, { weights, session: oneThread })

  test('pass every part of the loss, in the layout meant', async () => {
    const limits = { vocab: config.vocab_size, positions: config.max_position_embeddings }
    expect('prompts' in packRows(batch, limits)).toBe(shares)
    await using t = trainer()
    const { logProbs } = await t.score(batch, options.temperature)
    const trained = [...batch.lossMask.keys()].filter((i) => batch.lossMask[i])
    const kinds = trained.map((i) => {
      const ratio = Math.exp(logProbs[i]! - batch.oldLogprobs![i]!)
      const side = ratio > 1 + options.clipHigh! ? 'above' : ratio < 1 - options.clipLow! ? 'below' : 'within'
      return `${side} ${batch.weights[i]! < 0 ? '-' : '+'}`
    })
    expect([...new Set(kinds)].sort()).toStrictEqual([
      'above +',
      'above -',
      'below +',
      'below -',
      'within +',
      'within -',
    ])
    expect(batch.valid.includes(0)).toBe(true)
    expect(trained.length).toBeLessThan(batch.valid.reduce((a, b) => a + b, 0) - batch.rows)
    expect(steps[0]!.kl).toBeGreaterThan(0.01)
    for (const { gradNorm } of steps) expect(gradNorm).toBeGreaterThan(options.maxGradNorm)
  })

  test.each([
    ['one batch', batch],
    ['three micro-batches', threeParts],
  ])('give the same gradients from %s', async (_, given) => {
    await using t = trainer()
    await t.step(given, options)
    const scale = 1 / (1 - options.betas[0])
    const { m } = t.exportState()
    const gradients = new Map(Array.from(m, ([name, values]) => [name, values.map((v) => v * scale)]))
    expectClose(gradients, tensors('gradients.safetensors', ''))
  })

  test.each([
    ['one batch', batch],
    ['three micro-batches', threeParts],
  ])('give the same weights and moments after three of them, from %s', async (_, given) => {
    await using t = trainer()
    for (const expected of steps) {
      const got = await t.step(given, options)
      for (const [name, value] of Object.entries(expected)) {
        const error = Math.abs(got[name as keyof StepResult] - value)
        expect(error / Math.max(Math.abs(value), 0.1), name).toBeLessThan(tolerance)
      }
    }
    const state = t.exportState()
    const after = tensors('after.safetensors', 'w.')
    expectClose(state.weights, after)
    expectClose(state.m, tensors('after.safetensors', 'm.'))
    expectClose(state.v, tensors('after.safetensors', 'v.'))
    expectClose(minus(state.weights, weights), minus(after, weights))
  })
})
