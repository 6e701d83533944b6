import { Worker } from 'node:worker_threads'
import { describe, expect, test } from 'vitest'
import { Connection } from '../../../src/model/engine/connection.ts'

/** Workers that break, as the engine's must not. */
function connect(onMessage: string): Connection {
  const source = `const { parentPort } = require('node:worker_threads')
    parentPort.on('message', (message) => { ${onMessage} })`
  return new Connection(new Worker(source, { eval: true, stderr: true }))
}

describe('the end of the worker', () => {
  test('an error in it rejects every call that waits, and every later one', async () => {
    const connection = connect(`if (message.op === 'resetOptimizer') throw new Error('out of memory')`)
    const calls = [
      connection.ready,
      connection.call('exportState', []),
      connection.call('resetOptimizer', []),
    ]
    for (const result of await Promise.allSettled(calls)) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'ENGINE_FAILED', message: expect.stringContaining('out of memory') },
      })
    }
    await expect(connection.call('exportState', [])).rejects.toMatchObject({ code: 'ENGINE_FAILED' })
    await connection[Symbol.asyncDispose]()
  })

  test('an exit without an error does so too, and names its code', async () => {
    const connection = connect('process.exit(3)')
    const call = connection.call('exportState', [])
    for (const waiting of [call, connection.ready]) {
      await expect(waiting).rejects.toMatchObject({
        code: 'ENGINE_FAILED',
        message: expect.stringContaining('code 3'),
      })
    }
  })
})

test('an error that is no CascadeError arrives as ENGINE_FAILED; what cannot be sent rejects its own call', async () => {
  const connection = connect(`if (message.op === 'exportState')
      parentPort.postMessage({ id: message.id, error: { code: 'ENGINE_FAILED', message: 'x', retryable: false, context: {} } })
    else if (message.close) parentPort.close()`)
  connection.ready.catch(() => {})
  await expect(connection.call('exportState', [])).rejects.toMatchObject({
    name: 'CascadeError',
    code: 'ENGINE_FAILED',
  })
  const unsendable = { seed: () => 1 } as unknown as number
  await expect(connection.call('initialise', [unsendable])).rejects.toThrow('could not be cloned')
  await connection[Symbol.asyncDispose]()
})
