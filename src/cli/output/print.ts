import type { Output } from '../command.ts'

/**
 * Writes and waits while the reader is slower than we are, so that output never queues up in memory.
 *
 * @throws the signal's reason; what the output fails with while we wait
 */
export async function print(output: Output, text: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  if (output.errored) throw output.errored
  if (output.write(text)) return
  await new Promise<void>((resolve, reject) => {
    const done = (end: () => void) => {
      output.off('drain', onDrain)
      output.off('close', onClose)
      signal.removeEventListener('abort', onAbort)
      end()
    }
    const onDrain = () => done(resolve)
    const onAbort = () => done(() => reject(signal.reason))
    // A stream that fails is destroyed, and never drains.
    const onClose = () => done(() => reject(output.errored ?? new Error('the output was closed')))
    output.once('drain', onDrain)
    output.once('close', onClose)
    signal.addEventListener('abort', onAbort, { once: true })
  })
}
