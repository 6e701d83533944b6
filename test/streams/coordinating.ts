import { type CoordinateOptions, coordinate } from '../../streams/coordinate.ts'
import type { Append, InboxCommand, TopicLog } from '../../streams/ports.ts'
import {
  advantages,
  checkpoints,
  control,
  type GroupOutcome,
  prompts,
  type Topic,
} from '../../topics/index.ts'
import { turns } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'
import { checkpointOf, rlStage } from './stages.ts'
import { arithmetic, Model, stillClock } from './world.ts'

/** A coordinator over a log in memory, with an inbox that a test fills. */

export const stage = rlStage({ prompts: 2, groupSize: 2, steps: 2 })

export async function begun(): Promise<MemoryLog> {
  const log = new MemoryLog()
  await log.commit({ append: [{ topic: checkpoints, value: checkpointOf() }], settle: [] })
  return log
}

/** Commands as an inbox hands them out, when a test sends them. */
export class Inbox {
  readonly #sent: InboxCommand[] = []
  #wake: () => void = () => undefined

  send(id: string, command: 'pause' | 'resume' | 'stop' | 'finish-stage'): void {
    this.give({ id, command })
  }

  give(command: InboxCommand): void {
    this.#sent.push(command)
    this.#wake()
  }

  async *read(signal: AbortSignal): AsyncGenerator<InboxCommand> {
    while (!signal.aborted) {
      const next = this.#sent.shift()
      if (next) yield next
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
          signal.addEventListener('abort', () => resolve(), { once: true })
        })
      }
    }
  }
}

export function start(log: TopicLog, over: Partial<CoordinateOptions> = {}) {
  const abort = new AbortController()
  const inbox = new Inbox()
  const ending = coordinate(log, {
    runId: 'run',
    seed: 7,
    deterministic: false,
    configHash: 'c',
    stages: [stage],
    epoch: 1,
    source: arithmetic,
    evaluator: new Model(),
    inbox: (signal) => inbox.read(signal),
    clock: stillClock,
    signal: abort.signal,
    ...over,
  })
  // A rejection that a test looks at later is not an unhandled one.
  ending.catch(() => undefined)
  return { ending, abort, inbox }
}

export async function until(log: MemoryLog, topic: Topic<unknown>, count: number): Promise<void> {
  for (let i = 0; log.values(topic).length < count; i++) {
    if (i > 2000) throw new Error(`${topic.name}: expected ${count} records, got ${log.values(topic).length}`)
    await turns(5)
  }
}

export const settled = () => turns(200)
export const answer = (log: TopicLog, ...outcomes: GroupOutcome[]) =>
  log.commit({
    append: outcomes.map((value) => ({ topic: advantages('math'), value }) as Append),
    settle: [],
  })
export const types = (log: MemoryLog) => log.values(control).map((c) => c.type)
export const mathPrompts = prompts('math') as Topic<unknown>
