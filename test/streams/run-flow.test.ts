import { defer, NEVER, Subject, throwError } from 'rxjs'
import { expect, test } from 'vitest'
import type { Delivery } from '../../streams/delivery.ts'
import type { Append } from '../../streams/ports.ts'
import { runFlow } from '../../streams/run-flow.ts'
import { sink } from '../../streams/sink.ts'
import { Probe, smalls, turns } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'

const topic = smalls('t')
const output = (id: number) =>
  new Probe<readonly Append[]>([{ topic, value: { id, text: '' } } as Append], id)

type Flowing = ReturnType<typeof flowing>

/** A flow into a sink whose commits a test lets through one by one. */
function flowing() {
  let open: (error?: Error) => void = () => undefined
  let waiting = false
  const log = new MemoryLog({
    beforeCommit: () =>
      new Promise<void>((resolve, reject) => {
        waiting = true
        open = (error) => {
          waiting = false
          if (error) reject(error)
          else resolve()
        }
      }),
  })
  const to = sink(log)
  const input = new Subject<Delivery<readonly Append[]>>()
  const stop = new AbortController()
  let state: 'running' | 'over' = 'running'
  const running = runFlow(input.pipe(to), to, stop.signal)
  running.then(
    () => {
      state = 'over'
    },
    () => {
      state = 'over'
    },
  )
  const committing = async () => {
    while (!waiting) await new Promise((resolve) => setImmediate(resolve))
  }
  return {
    log,
    input,
    stop,
    running,
    committing,
    open: (error?: Error) => open(error),
    over: () => state === 'over',
  }
}

test('resolves when the flow has completed and everything is written', async () => {
  const f = flowing()
  f.input.next(output(0))
  f.input.complete()
  await f.committing()
  await turns()
  expect(f.over()).toBe(false)
  f.open()
  await f.running
  expect(f.log.values(topic)).toEqual([{ id: 0, text: '' }])
})

test('the error of the flow is thrown once the commit in flight has ended', async () => {
  const f = flowing()
  f.input.next(output(0))
  await f.committing()
  const ended = expect(f.running).rejects.toThrow('broken')
  f.input.error(new Error('broken'))
  await turns()
  expect(f.over()).toBe(false)
  f.open()
  await ended
  expect(f.log.values(topic)).toHaveLength(1)
})

test('aborting drops what waits, lets the commit in flight end and throws the reason', async () => {
  const f = flowing()
  f.input.next(output(0))
  await f.committing()
  f.input.next(output(1))
  const ended = expect(f.running).rejects.toThrow('enough')
  f.stop.abort(new Error('enough'))
  expect(f.input.observed).toBe(false)
  await turns()
  expect(f.over()).toBe(false)
  f.open()
  await ended
  expect(f.log.values(topic).map((s) => s.id)).toEqual([0])
})

test.each([
  ['of an abort: it is not passed over', (f: Flowing) => f.stop.abort(new Error('enough')), 'disk'],
  ['of an error: that one is thrown', (f: Flowing) => f.input.error(new Error('protocol')), 'protocol'],
])('a commit that fails because %s', async (_, end, message) => {
  const f = flowing()
  f.input.next(output(0))
  await f.committing()
  const ended = expect(f.running).rejects.toThrow(message)
  end(f)
  f.open(new Error('disk'))
  await ended
})

test('aborted before it starts, it subscribes to nothing', async () => {
  let subscribed = false
  const flow = defer(() => {
    subscribed = true
    return NEVER
  })
  await expect(runFlow(flow, sink(new MemoryLog()), AbortSignal.abort(new Error('early')))).rejects.toThrow(
    'early',
  )
  expect(subscribed).toBe(false)
})

test('aborted while it is being subscribed to, it is unsubscribed', async () => {
  const stop = new AbortController()
  const inner = new Subject<never>()
  const flow = defer(() => {
    stop.abort(new Error('at once'))
    return inner
  })
  await expect(runFlow(flow, sink(new MemoryLog()), stop.signal)).rejects.toThrow('at once')
  expect(inner.observed).toBe(false)
})

test('a flow that fails at once', async () => {
  const flow = throwError(() => new Error('at once'))
  const { signal } = new AbortController()
  await expect(runFlow(flow, sink(new MemoryLog()), signal)).rejects.toThrow('at once')
})
