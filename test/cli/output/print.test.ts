import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { print } from '../../../src/cli/output/print.ts'

function slow() {
  const pending: (() => void)[] = []
  const output = new Writable({
    highWaterMark: 4,
    write: (_chunk, _encoding, done) => void pending.push(done),
  })
  return { output, pending }
}

test('waits while the reader is slower', async () => {
  const { output, pending } = slow()
  let done = false
  const printed = print(output, 'long text', new AbortController().signal).then(() => {
    done = true
  })
  await new Promise((resolve) => setImmediate(resolve))
  expect(done).toBe(false)
  pending.shift()!()
  await printed
  expect(output.listenerCount('drain')).toBe(0)
})

test('a signal ends the wait', async () => {
  const { output } = slow()
  const abort = new AbortController()
  const printed = print(output, 'long text', abort.signal)
  abort.abort(new Error('enough'))
  await expect(printed).rejects.toThrow('enough')
  expect(output.listenerCount('drain')).toBe(0)
})
