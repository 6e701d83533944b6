import { parentPort, workerData } from 'node:worker_threads'
import type { Group } from '../decode/group.ts'
import type { TrainState } from '../train/trainer.ts'
import { numericProfile } from './profile.ts'
import {
  buffersOf,
  type Call,
  type EngineOptions,
  type FromWorker,
  type ToWorker,
  toWire,
} from './protocol.ts'
import { Service } from './service.ts'

/** Entry of the engine's worker thread. */

const { threads, providers, ...options } = workerData as EngineOptions & {
  threads: number
  providers: string[]
}
const port = parentPort!
const groups = new Map<number, Group>()
const service = new Service(options, { intraOpNumThreads: threads, executionProviders: providers })

port.on('message', (message: ToWorker) => {
  if ('close' in message) void close()
  else if ('abort' in message) forget(message.abort)?.cancel()
  else if (message.op === 'generate') generate(message)
  else void perform(message)
})
const deterministic = options.deterministic ?? false
post({ ready: numericProfile({ provider: providers[0]!, threads, deterministic }) })

function post(message: FromWorker, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

function generate({ id, args: [request] }: Extract<Call, { op: 'generate' }>): void {
  try {
    const group = service.generate(request, {
      row: (index, row) =>
        post({ id, index, row }, [row.tokens.buffer as ArrayBuffer, row.logprobs.buffer as ArrayBuffer]),
      done() {
        forget(id)
        post({ id, value: undefined })
      },
      failed(error) {
        forget(id)
        post({ id, error: toWire(error) })
      },
    })
    groups.set(id, group)
  } catch (error) {
    post({ id, error: toWire(error) })
  }
}

async function perform(call: Exclude<Call, { op: 'generate' }>): Promise<void> {
  try {
    const value = await service.perform(call)
    post({ id: call.id, value }, call.op === 'exportState' ? buffersOf(value as TrainState) : [])
  } catch (error) {
    post({ id: call.id, error: toWire(error) })
  }
}

function forget(id: number): Group | undefined {
  const group = groups.get(id)
  groups.delete(id)
  return group
}

/** What is under way was given up by the main thread; the thread ends when its port is closed. */
async function close(): Promise<void> {
  for (const group of groups.values()) group.cancel()
  await service[Symbol.asyncDispose]()
  port.close()
}
