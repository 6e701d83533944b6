import ort from 'onnxruntime-node'
import { expect, test } from 'vitest'
import { GraphBuilder } from '../../../src/model/onnx/builder.ts'
import { oneThread } from '../tiny.ts'

async function run(g: GraphBuilder, feeds: Record<string, ort.Tensor>): Promise<Record<string, ort.Tensor>> {
  const session = await ort.InferenceSession.create(g.toModel(), oneThread)
  return (await session.run(feeds)) as Record<string, ort.Tensor>
}

test('a graph runs with its inputs, constants and attributes of every kind', async () => {
  const g = new GraphBuilder('kinds')
  const x = g.input('x', 'float32', ['N', 2])
  const product = g.op('Gemm', [x, g.f32([1, 2, 3, 4], [2, 2])], {
    attrs: { alpha: { float: 0.5 }, transB: 1 },
  })
  const turned = g.op('Transpose', [product], { attrs: { perm: [1, 0] } })
  const padded = g.op('Pad', [turned, g.i64([0, 1, 0, 0]), g.f32(9)], { attrs: { mode: 'constant' } })
  g.output(padded, 'float32', [2, 'M'], 'y')
  const { y } = await run(g, { x: new ort.Tensor('float32', [1, 1, 2, 0], [2, 2]) })
  expect(y!.dims).toStrictEqual([2, 3])
  expect(Array.from(y!.data as Float32Array)).toStrictEqual([9, 1.5, 1, 9, 3.5, 3])
})

test('an output has its name from the node that makes it; what has a name already is copied', async () => {
  const g = new GraphBuilder('outputs')
  const x = g.input('x', 'float32', ['N'])
  const twice = g.op('Add', [x, x])
  const before = g.op('Neg', [twice])
  g.output(twice, 'float32', ['N'], 'twice')
  const after = g.op('Add', [twice, before])
  g.output(after, 'float32', ['N'], 'after')
  expect(g.nodeCount).toBe(3)
  g.output(twice, 'float32', ['N'], 'again')
  g.output(x, 'float32', ['N'], 'same')
  g.output(g.f32([7]), 'float32', [1], 'constant')
  expect(g.nodeCount).toBe(6)
  const out = await run(g, { x: new ort.Tensor('float32', [3], [1]) })
  const values = Object.entries(out).map(([name, { data }]) => [name, data[0]])
  expect(Object.fromEntries(values)).toEqual({ twice: 6, after: 0, again: 6, same: 3, constant: 7 })
})

test('equal small constants are one, and differ by type and shape', () => {
  const g = new GraphBuilder('constants')
  expect(g.f32([1, 2])).toBe(g.f32([1, 2]))
  expect(new Set([g.f32([1]), g.f32(1), g.i64([1]), g.i32([1]), g.f32([1], [1, 1])]).size).toBe(5)
})
