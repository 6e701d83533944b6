import { z } from 'zod'
import type { InboxCommand } from '../../streams/ports.ts'
import {
  CascadeError,
  type SettingAsked,
  settingAsked,
  type VerifierAsked,
  verifierAsked,
} from '../../topics/index.ts'
import { type EmbeddedLog, livingWriterOf, submit } from '../log/index.ts'

/** Commands that `cascade control` sends. */
export const controlCommands = ['pause', 'resume', 'stop', 'finish-stage'] as const

const topic = 'control'
export type ControlCommand = (typeof controlCommands)[number]

const payloadSchema = z.discriminatedUnion('command', [
  z.object({
    command: z.enum(controlCommands),
    /** On `stop`: epoch of the opening that it was sent to. A stop ends one process; the next one must not meet it. */
    opening: z.int().optional(),
  }),
  z.object({ command: z.literal('set'), asked: settingAsked }),
  z.object({ command: z.literal('verifier'), asked: verifierAsked }),
])

/** Hands a command to the process that writes the log in `dir`; resolves with its id once it is durable. */
export async function submitCommand(dir: string, command: ControlCommand): Promise<string> {
  const opening = command === 'stop' ? (await livingWriterOf(dir))?.epoch : undefined
  return submit(dir, topic, { command, ...(opening === undefined ? {} : { opening }) })
}

/** The same with a change to a verifier's versions. */
export function submitVerifier(dir: string, asked: VerifierAsked): Promise<string> {
  return submit(dir, topic, { command: 'verifier', asked })
}

/** The same with a field of a stage. */
export function submitSetting(dir: string, asked: SettingAsked): Promise<string> {
  return submit(dir, topic, { command: 'set', asked })
}

/**
 * The other side: what was submitted for the coordinator, in order, until the signal aborts. A stop that came too late for the process
 * it was sent to is removed.
 */
export async function* receivedCommands(
  log: Pick<EmbeddedLog, 'inbox' | 'epoch' | 'commit'>,
  signal: AbortSignal,
  onUnknown: (error: CascadeError) => void = (error) => process.emitWarning(error),
): AsyncGenerator<InboxCommand> {
  for await (const entry of log.inbox(signal)) {
    const parsed = entry.topic === topic ? payloadSchema.safeParse(entry.payload) : undefined
    if (parsed?.success) {
      const { data } = parsed
      if (data.command === 'verifier' || data.command === 'set') yield { id: entry.id, ...data }
      else if (data.opening === undefined || data.opening === log.epoch) {
        yield { id: entry.id, command: data.command }
      } else await log.commit({ append: [], settle: [], inbox: [entry.id] })
    } else {
      const expected = `expected a command, one of ${controlCommands.join(', ')}, got one for ${entry.topic}`
      onUnknown(
        new CascadeError('RECORD_INVALID', `inbox entry ${entry.id}: ${expected}; a newer build sent it`),
      )
    }
  }
}

/** Commands that this process gives itself. */
export class CommandQueue {
  readonly #waiting: InboxCommand[] = []
  #wake: () => void = () => undefined

  push(command: InboxCommand): void {
    this.#waiting.push(command)
    this.#wake()
  }

  /** Ends when the signal aborts. */
  async *read(signal: AbortSignal): AsyncGenerator<InboxCommand> {
    signal.addEventListener('abort', () => this.#wake(), { once: true })
    while (!signal.aborted) {
      const next = this.#waiting.shift()
      if (next) yield next
      else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve
          if (this.#waiting.length > 0 || signal.aborted) resolve()
        })
      }
    }
  }
}

/** What two sources give, as it comes; ends when both have. @throws what the first of them throws */
export async function* merged<T>(...sources: AsyncGenerator<T>[]): AsyncGenerator<T> {
  const pending = new Map(sources.map((s) => [s, s.next().then((result) => ({ s, result }))]))
  while (pending.size > 0) {
    const { s, result } = await Promise.race(pending.values())
    if (result.done) pending.delete(s)
    else {
      pending.set(
        s,
        s.next().then((next) => ({ s, result: next })),
      )
      yield result.value
    }
  }
}
