import { parentPort, workerData } from 'node:worker_threads'
import { numericProfile } from '../engine/profile.ts'
import { buffersOf, type FromWorker, type ToWorker, toWire } from '../engine/protocol.ts'
import type { WorkerData } from '../engine/start.ts'
import { initWeights } from '../weights/init.ts'
import type { RewardCall, RewardEngineOptions } from './protocol.ts'
import { RewardTrainer } from './trainer.ts'

/** Entry of a reward model's worker thread. Calls are served one after the other. */

const { threads, providers, config } = workerData as WorkerData<RewardEngineOptions>
const port = parentPort!
const trainer = new RewardTrainer(config, {
  weights: initWeights(config, 0),
  session: { intraOpNumThreads: threads, executionProviders: providers },
})
const waiting = new Set<number>()
let last = Promise.resolve()

port.on('message', (message: RewardCall | Exclude<ToWorker, { op: unknown }>) => {
  if ('close' in message) last = last.then(close)
  else if ('abort' in message) waiting.delete(message.abort)
  else {
    waiting.add(message.id)
    last = last.then(() => serve(message))
  }
})
post({ ready: numericProfile({ provider: providers[0]!, threads, deterministic: false }) })

function post(message: FromWorker, transfer: ArrayBuffer[] = []): void {
  port.postMessage(message, transfer)
}

/** Never rejects. */
async function serve(call: RewardCall): Promise<void> {
  // Given up before its turn.
  if (!waiting.delete(call.id)) return
  try {
    switch (call.op) {
      case 'loadState':
        return post({ id: call.id, value: trainer.loadState(...call.args) })
      case 'exportState': {
        const value = trainer.exportState()
        return post({ id: call.id, value }, buffersOf(value))
      }
      case 'step':
        return post({ id: call.id, value: await trainer.step(...call.args) })
      case 'rewards':
        return post({ id: call.id, value: await trainer.rewards(...call.args) })
    }
  } catch (error) {
    post({ id: call.id, error: toWire(error) })
  }
}

async function close(): Promise<void> {
  await trainer[Symbol.asyncDispose]()
  port.close()
}
