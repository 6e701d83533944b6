import { Observable } from 'rxjs'
import { CascadeError, type Topic } from '../topics/index.ts'
import type { Delivery } from './delivery.ts'
import type { Envelope, TopicLog } from './ports.ts'
import { type Aftermath, Reader } from './reader.ts'
import type { SourceOptions } from './source-options.ts'

/**
 * The records of a topic as deliveries, read by one loop that pulls against credit. A subscription starts at the
 * named reader's floor and leaves out what it has settled beyond; it never hands out a record that lies
 * {@link TopicLog.window} or more beyond the floor. What was handed out and not settled comes again with the next
 * subscription, which must not begin before a commit in flight has ended (`Sink.drained`). Unsubscribing returns all
 * credit; after completion a delivery keeps its credit until it is released, or until the next subscription.
 *
 * Errors: those of `TopicLog.fetch` and `TopicLog.position`; `CONFIG_INVALID` at once for options that exclude each other.
 */
export function source<T>(
  log: TopicLog,
  topic: Topic<T>,
  options: SourceOptions,
): Observable<Delivery<Envelope<T>>> {
  const { group, overflow = 'suspend', onDecodeError = 'fail', from } = options
  if (group !== undefined && overflow !== 'suspend') {
    throw invalid(topic, `overflow ${overflow} without a group, since ${group} settles what it reads`)
  }
  if (group !== undefined && from !== undefined) throw invalid(topic, 'either a group or from')
  if (group === undefined && onDecodeError === 'dead-letter') {
    throw invalid(topic, 'a group where undecodable records go to dead letters')
  }
  const aftermath: Aftermath = {}
  return new Observable((out) => {
    const reader = new Reader(log, topic, { ...options, overflow, onDecodeError }, out, aftermath)
    out.add(() => reader.close())
    reader.start()
  })
}

function invalid(topic: { readonly name: string }, expected: string): CascadeError {
  return new CascadeError('CONFIG_INVALID', `source of ${topic.name}: expected ${expected}`)
}
