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

test('a subgraph sees the values around it and carries its own', async () => {
  const body = new GraphBuilder('body')
  const outer = new GraphBuilder('outer')
  const step = outer.input('step', 'float32', [])
  body.input('i', 'int64', [])
  const go = body.input('go', 'bool', [])
  const sum = body.input('sum', 'float32', [])
  const next = body.op('Add', [sum, step])
  body.output(body.op('Identity', [go]), 'bool', [])
  body.output(next, 'float32', [])
  body.output(body.op('Identity', [next]), 'float32', [])
  const [last, all] = outer.ops('Loop', [outer.i64(3), null, outer.f32(10)], 2, { attrs: { body } })
  outer.output(last!, 'float32', [], 'last')
  outer.output(all!, 'float32', ['N'], 'all')
  const out = await run(outer, { step: new ort.Tensor('float32', [2], []) })
  expect(Array.from(out.last!.data as Float32Array)).toStrictEqual([16])
  expect(Array.from(out.all!.data as Float32Array)).toStrictEqual([12, 14, 16])
})

test('equal small constants are one, and differ by type and shape', () => {
  const g = new GraphBuilder('constants')
  expect(g.f32([1, 2])).toBe(g.f32([1, 2]))
  expect(new Set([g.f32([1]), g.f32(1), g.i64([1]), g.i32([1]), g.f32([1], [1, 1])]).size).toBe(5)
})
