import type { Observable } from 'rxjs'
import type { Sink } from './sink.ts'

/**
 * Subscribes to a flow that ends in `to` and resolves when it completes. Aborting drops what is in flight, which comes
 * again after a restart. Either way it settles only once no commit is under way.
 *
 * @throws the flow's error, or the signal's reason
 */
export async function runFlow(flow: Observable<unknown>, to: Sink, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted()
  let aborted: () => void = () => undefined
  let failure: { error: unknown } | undefined
  try {
    await new Promise<void>((resolve, reject) => {
      const subscription = flow.subscribe({ error: reject, complete: resolve })
      aborted = () => {
        subscription.unsubscribe()
        reject(signal.reason)
      }
      if (signal.aborted) aborted()
      else signal.addEventListener('abort', aborted, { once: true })
    })
  } catch (error) {
    failure = { error }
  }
  signal.removeEventListener('abort', aborted)
  try {
    await to.drained()
  } catch (error) {
    // A commit that fails says more than the signal's reason, but less than what broke the flow before it.
    if (!failure || failure.error === signal.reason) throw error
  }
  if (failure) throw failure.error
}
