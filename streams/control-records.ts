import { Observable } from 'rxjs'
import { type Control, control } from '../topics/index.ts'
import { Fence } from './fence.ts'
import { follow } from './follow.ts'
import type { TopicLog } from './ports.ts'

/**
 * The run's control records, without settling anything; completes after `run-end`. Of the past only what still holds
 * is emitted: the `stage-begin` of a stage that is not drained yet, and `run-end`. What a coordinator that was replaced
 * wrote is left out.
 *
 * @param past complete with the past instead of following
 */
export function controlRecords(log: TopicLog, past = false): Observable<Control> {
  return new Observable((out) => {
    const stop = new AbortController()
    out.add(() => stop.abort())
    const { signal } = stop
    const fence = new Fence()
    const run = async () => {
      let begun: Control | undefined
      let ended: Control | undefined
      const from = await follow(log, control, { from: 0, until: 'end', signal }, ({ value }) => {
        if (!fence.admits(value)) return
        if (value.type === 'stage-begin') begun = value
        else if (value.type === 'stage-drain') begun = undefined
        else if (value.type === 'run-end') ended = value
      })
      for (const record of [begun, ended]) if (record) out.next(record)
      if (ended || past) out.complete()
      else {
        await follow(log, control, { from, signal }, ({ value }) => {
          if (!fence.admits(value)) return
          out.next(value)
          if (value.type === 'run-end') out.complete()
        })
      }
    }
    run().catch((error: unknown) => {
      // An abort is our own unsubscription, or completion: nobody listens then.
      if (!signal.aborted) out.error(error)
    })
  })
}
