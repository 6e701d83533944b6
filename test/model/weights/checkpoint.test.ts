import { expect, test } from 'vitest'
import { Trainer } from '../../../src/model/train/trainer.ts'
import { decodeCheckpoint, encodeCheckpoint } from '../../../src/model/weights/checkpoint.ts'
import { initWeights } from '../../../src/model/weights/init.ts'
import { decodeSafetensors, encodeSafetensors } from '../../../src/model/weights/safetensors.ts'
import { oneThread, tinyBatch, tinyConfig, tinyOptions } from '../tiny.ts'

const fresh = () => new Trainer(tinyConfig, { weights: initWeights(tinyConfig, 2), session: oneThread })
const trained = await (async () => {
  await using trainer = fresh()
  for (let i = 0; i < 2; i++) await trainer.step(tinyBatch(), tinyOptions)
  return trainer.exportState()
})()
const encoded = () => new Map(encodeCheckpoint(tinyConfig, trained).map((f) => [f.name, f.bytes]))

test('a state comes back as it was, bit for bit, and is written alike twice', () => {
  const decoded = decodeCheckpoint(encoded(), tinyConfig)
  expect(decoded).toStrictEqual({ config: tinyConfig, state: trained })
  expect(encodeCheckpoint(decoded.config, decoded.state)).toStrictEqual(encodeCheckpoint(tinyConfig, trained))
})

test('training goes on from it as if nothing had happened', async () => {
  await using on = fresh()
  for (let i = 0; i < 3; i++) await on.step(tinyBatch(), tinyOptions)
  await using resumed = fresh()
  resumed.loadState(decodeCheckpoint(encoded()).state)
  await resumed.step(tinyBatch(), tinyOptions)
  expect(resumed.exportState()).toStrictEqual(on.exportState())
})

test('weights split over several files, without an optimizer, start at step 0', () => {
  const files = encoded()
  const all = Array.from(decodeSafetensors(files.get('model.safetensors')!, 'f').tensors)
  files.delete('model.safetensors')
  files.delete('optimizer.safetensors')
  for (const [i, tensors] of [all.slice(0, 5), all.slice(5)].entries()) {
    const bytes = encodeSafetensors({ tensors: new Map(tensors), metadata: {} })
    files.set(`model-0000${i + 1}-of-00002.safetensors`, bytes)
  }
  const { state } = decodeCheckpoint(files)
  expect(state.weights).toStrictEqual(trained.weights)
  expect(state.step).toBe(0)
  for (const values of [...state.m.values(), ...state.v.values()])
    expect(values.every((x) => x === 0)).toBe(true)
})

test.each([
  [
    { ...tinyConfig, intermediate_size: 32 },
    /model.layers.0.mlp.gate_proj.weight: expected \[32, 16\], got \[24, 16\]/,
  ],
  [
    { ...tinyConfig, num_hidden_layers: 3 },
    /model.layers.2.input_layernorm.weight: expected \[16\], got nothing/,
  ],
  [{ ...tinyConfig, rope_theta: 7 }, /^config.json: rope_theta: expected 7, got 10000$/],
])('a checkpoint of another model is refused by name', (expected, message) => {
  expect(() => decodeCheckpoint(encoded(), expected)).toThrow(
    expect.objectContaining({ code: 'CHECKPOINT_SHAPE', message: expect.stringMatching(message) }),
  )
})

test.each(['config.json', 'model.safetensors'])('without %s it is refused', (name) => {
  const files = encoded()
  files.delete(name)
  expect(() => decodeCheckpoint(files)).toThrow(
    expect.objectContaining({ code: 'CHECKPOINT_NOT_FOUND', message: expect.stringContaining(name) }),
  )
})

test.each(['config.json', 'model.safetensors', 'optimizer.safetensors'])(
  'with %s cut short it is refused',
  (name) => {
    const files = encoded()
    const bytes = files.get(name)!
    files.set(name, bytes.subarray(0, bytes.length - 3))
    expect(() => decodeCheckpoint(files)).toThrow(
      expect.objectContaining({ code: 'CHECKPOINT_INVALID', message: expect.stringContaining(name) }),
    )
  },
)

test('an optimizer file without its step, or with a moment of another shape, is refused', () => {
  const files = encoded()
  const { tensors } = decodeSafetensors(files.get('optimizer.safetensors')!, 'f')
  files.set('optimizer.safetensors', encodeSafetensors({ tensors, metadata: {} }))
  expect(() => decodeCheckpoint(files)).toThrow(
    'optimizer.safetensors: metadata step: expected a whole number, got undefined',
  )
  tensors.delete('v.norm')
  files.set('optimizer.safetensors', encodeSafetensors({ tensors, metadata: { step: '2' } }))
  expect(() => decodeCheckpoint(files)).toThrow(
    'optimizer.safetensors: tensor v.norm: expected [16], got nothing',
  )
})
