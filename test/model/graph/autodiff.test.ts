import ort from 'onnxruntime-node'
import { expect, test } from 'vitest'
import { Tape } from '../../../src/model/graph/autodiff.ts'
import { add, scale, splitFirst } from '../../../src/model/graph/ops/elementwise.ts'
import { GraphBuilder } from '../../../src/model/onnx/builder.ts'
import { oneThread } from '../tiny.ts'

async function evaluate(g: GraphBuilder, feeds: Record<string, number[]>): Promise<Record<string, number[]>> {
  const session = await ort.InferenceSession.create(g.toModel(), { ...oneThread, logSeverityLevel: 3 })
  const tensors = Object.entries(feeds).map(([n, v]) => [n, new ort.Tensor('float32', v, [v.length])])
  const out = await session.run(Object.fromEntries(tensors))
  return Object.fromEntries(Object.entries(out).map(([n, t]) => [n, Array.from(t.data as Float32Array)]))
}

test('gradients of all uses of a variable add up, on top of what was given', async () => {
  const g = new GraphBuilder('uses')
  const tape = new Tape(g)
  const x = tape.leaf(g.input('x', 'float32', [4]))
  const tripled = tape.call(scale, [x, tape.constant(g.f32(3))], null)
  const y = tape.call(add, [x, tripled], null)
  const [low, high] = tape.apply(splitFirst, [y], { sizes: [2, 2] })
  const z = tape.call(add, [low!, tape.call(scale, [high!, tape.constant(g.f32(10))], null)], null)
  const [dx] = tape.gradients(z, g.f32([1, 2]), [x], [g.input('given', 'float32', [4])])
  g.output(dx!, 'float32', [4], 'dx')
  const { dx: got } = await evaluate(g, { x: [5, 6, 7, 8], given: [100, 200, 300, 400] })
  expect(got).toStrictEqual([104, 208, 340, 480])
})

test('a variable that the output does not depend on is an error', () => {
  const g = new GraphBuilder('apart')
  const tape = new Tape(g)
  const [x, other] = ['x', 'other'].map((name) => tape.leaf(g.input(name, 'float32', [2])))
  const y = tape.call(scale, [x!, tape.constant(g.f32(3))], null)
  expect(() => tape.gradients(y, g.f32([1, 1]), [x!, other!])).toThrow('no gradient reaches other')
})

test('one variable in two places of one operator is an error', () => {
  const g = new GraphBuilder('twice')
  const tape = new Tape(g)
  const x = tape.leaf(g.input('x', 'float32', [2]))
  expect(() => tape.call(add, [x, x], null)).toThrow('add: one variable given twice')
})
