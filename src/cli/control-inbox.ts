import { z } from 'zod'
import type { InboxCommand } from '../../streams/ports.ts'
import { CascadeError } from '../../topics/index.ts'
import { type EmbeddedLog, submit } from '../log/index.ts'

/** Commands that `cascade control` sends. */
export const controlCommands = ['pause', 'resume', 'stop'] as const

const topic = 'control'
const payloadSchema = z.object({ command: z.enum(controlCommands) })

/** Hands a command to the process that writes the log in `dir`; resolves with its id once it is durable. */
export function submitCommand(dir: string, command: InboxCommand['command']): Promise<string> {
  return submit(dir, topic, { command })
}

/** The other side: what was submitted for the coordinator, in order, until the signal aborts. */
export async function* receivedCommands(
  log: Pick<EmbeddedLog, 'inbox'>,
  signal: AbortSignal,
  onUnknown: (error: CascadeError) => void = (error) => process.emitWarning(error),
): AsyncGenerator<InboxCommand> {
  for await (const entry of log.inbox(signal)) {
    const parsed = entry.topic === topic ? payloadSchema.safeParse(entry.payload) : undefined
    if (parsed?.success) yield { id: entry.id, command: parsed.data.command }
    else {
      const expected = `expected a command, one of ${controlCommands.join(', ')}, got one for ${entry.topic}`
      onUnknown(
        new CascadeError('RECORD_INVALID', `inbox entry ${entry.id}: ${expected}; a newer build sent it`),
      )
    }
  }
}
