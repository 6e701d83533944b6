import { expect, test } from 'vitest'
import { z } from 'zod'
import { caseMaker } from '../../../src/verifiers/configured/kind-judge.ts'

const asked = { id: 'r', prompt: 'Say it.', response: 'It.', truth: { word: 'it' } }
const options = { name: 'x', defaults: {}, response: 'response', usesTruth: true } as const
const ours = { id: z.string(), response: z.string() }

test('a kind that asks for the prompt gets it, one that refuses it does not, and may get its own from the ground truth', () => {
  const word = { ...ours, word: z.string() }
  const without = caseMaker({ schema: z.strictObject(word) }, options)
  const made = { made: { id: 'r', response: 'It.', word: 'it' } }
  for (const _ of ['first', 'again']) expect(without(asked)).toEqual(made)
  const withPrompt = caseMaker({ schema: z.strictObject({ ...word, prompt: z.string() }) }, options)
  expect(withPrompt(asked)).toMatchObject({ made: { prompt: 'Say it.' } })
  expect(withPrompt({ ...asked, truth: { word: 'it', prompt: 'own' } })).toMatchObject({
    made: { prompt: 'own' },
  })
})

test('a ground truth of a wrong shape is told once the prompt was refused as well', () => {
  const without = caseMaker({ schema: z.strictObject(ours) }, options)
  for (const _ of ['first', 'again']) {
    expect(without(asked)).toMatchObject({
      failed: { outcome: 'failed', message: 'verifier x: ground truth: (value): Unrecognized key: "word"' },
    })
  }
})

test('what judges by prompt and response alone takes any ground truth', () => {
  const schema = z.strictObject({ ...ours, prompt: z.string() })
  const make = caseMaker({ schema }, { ...options, usesTruth: false })
  for (const truth of [asked.truth, null, 'x', 3]) {
    expect(make({ ...asked, truth })).toEqual({ made: { id: 'r', prompt: 'Say it.', response: 'It.' } })
  }
})

test('defaults give way to the ground truth', () => {
  const schema = z.strictObject({ ...ours, mode: z.string() })
  const make = caseMaker({ schema }, { ...options, defaults: { mode: 'strict' } })
  expect(make({ ...asked, truth: {} })).toMatchObject({ made: { mode: 'strict' } })
  expect(make({ ...asked, truth: { mode: 'loose' } })).toMatchObject({ made: { mode: 'loose' } })
})
