import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { InferenceSession, listSupportedBackends, Tensor } from 'onnxruntime-node'
import { GraphBuilder } from '../../model/onnx/builder.ts'

/**
 * A process that answers with one JSON object: without an argument, what the engine can compute on; with one,
 * whether a square can be computed there.
 */

const [provider] = process.argv.slice(2)
try {
  process.stdout.write(JSON.stringify(provider === undefined ? list() : await square(provider)))
} catch (error) {
  process.stdout.write(JSON.stringify({ error: error instanceof Error ? error.message : String(error) }))
}

function list() {
  const file = createRequire(import.meta.url).resolve('onnxruntime-node/package.json')
  const { version } = JSON.parse(readFileSync(file, 'utf8')) as { version: string }
  return { version, providers: listSupportedBackends() }
}

async function square(on: string): Promise<{ error?: string }> {
  const graph = new GraphBuilder('probe')
  const x = graph.input('x', 'float32', [2])
  graph.output(graph.op('Mul', [x, x]), 'float32', [2], 'y')
  const session = await InferenceSession.create(graph.toModel(), {
    executionProviders: [on],
    logSeverityLevel: 4,
  })
  const { y } = await session.run({ x: new Tensor('float32', new Float32Array([3, -4]), [2]) })
  const [a, b] = y!.data as Float32Array
  await session.release()
  return a === 9 && b === 16 ? {} : { error: `expected 9 and 16, got ${a} and ${b}` }
}
