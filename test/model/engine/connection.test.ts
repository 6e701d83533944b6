import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
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

test('an answer that comes late, of a call that was aborted, does not let the process end before the worker has', async () => {
  const program = `
    import { Worker } from 'node:worker_threads'
    import { Connection } from ${JSON.stringify(new URL('../../../src/model/engine/connection.ts', import.meta.url).href)}
    const worker = new Worker(\`
      const { parentPort } = require('node:worker_threads')
      parentPort.on('message', ({ id, op, close }) => {
        if (op) setTimeout(() => parentPort.postMessage({ id, value: undefined }), 100)
        if (close) setTimeout(() => process.exit(0), 300)
      })\`, { eval: true })
    const connection = new Connection(worker)
    connection.ready.catch(() => {})
    await connection.call('exportState', [], { signal: AbortSignal.timeout(20) }).catch(() => {})
    await connection[Symbol.asyncDispose]()
    console.log('closed')`
  // From a file: a program given by --eval ends in another way.
  const folder = await mkdtemp(join(tmpdir(), 'cascade-connection-'))
  try {
    const file = join(folder, 'late.mjs')
    await writeFile(file, program)
    const { stdout } = await promisify(execFile)(process.execPath, [file])
    expect(stdout).toBe('closed\n')
  } finally {
    await rm(folder, { recursive: true })
  }
})
