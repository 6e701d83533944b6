import type { Output } from '../command.ts'

/**
 * Writes and waits while the reader is slower than we are, so that output never queues up in memory.
 *
 * @throws the signal's reason
 */
export async function print(output: Output, text: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (output.write(text)) return
  await new Promise<void>((resolve, reject) => {
    const done = (end: () => void) => {
      output.off('drain', onDrain)
      signal.removeEventListener('abort', onAbort)
      end()
    }
    const onDrain = () => done(resolve)
    const onAbort = () => done(() => reject(signal.reason))
    output.once('drain', onDrain)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
