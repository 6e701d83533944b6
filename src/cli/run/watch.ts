import { follow } from '../../../streams/follow.ts'
import type { Envelope, TopicLog } from '../../../streams/ports.ts'
import { control, evaluations, rollouts, type Topic, updates } from '../../../topics/index.ts'
import type { Progress, ProgressEvent } from '../output/progress.ts'

type Reader = (
  from: number,
  until: 'end' | undefined,
  signal: AbortSignal,
  take: (event: ProgressEvent) => void,
) => Promise<number>

/**
 * Shows a run's records as they are written. The past is folded first, unseen.
 * Resolves with a function that follows until the signal aborts, whose reason it then throws.
 */
export async function watch(
  log: TopicLog,
  domains: readonly string[],
  progress: Progress,
  signal: AbortSignal,
): Promise<() => Promise<unknown>> {
  const readers = [
    reader(log, control, (r) => ({ type: 'control', record: r.value, timestamp: r.timestamp })),
    reader(log, updates, (r) => ({ type: 'update', record: r.value, timestamp: r.timestamp })),
    reader(log, evaluations, (r) => ({ type: 'evaluation', record: r.value, timestamp: r.timestamp })),
  ]
  const past: ProgressEvent[] = []
  const next = await Promise.all(readers.map((read) => read(0, 'end', signal, (e) => void past.push(e))))
  for (const event of past.sort((a, b) => a.timestamp - b.timestamp)) progress.past(event)
  for (const domain of domains) {
    const topic = rollouts(domain)
    readers.push(
      reader(log, topic, (r) => ({
        type: 'throughput',
        tokens: r.value.responseTokens.length,
        rollouts: 1,
        timestamp: r.timestamp,
      })),
    )
    next.push(await log.offset(topic.name, 'latest'))
  }
  return () =>
    Promise.all(readers.map((read, i) => read(next[i]!, undefined, signal, (e) => progress.event(e))))
}

function reader<T>(log: TopicLog, topic: Topic<T>, event: (r: Envelope<T>) => ProgressEvent): Reader {
  return (from, until, signal, take) =>
    follow(log, topic, { from, signal, ...(until ? { until } : {}) }, (r) => take(event(r)))
}
