import { follow } from '../../../streams/follow.ts'
import type { TopicLog } from '../../../streams/ports.ts'
import { control, evaluations, rollouts, updates } from '../../../topics/index.ts'
import type { Progress, ProgressEvent } from '../output/progress.ts'
import { lane, takeInOrder } from './lane.ts'

/**
 * Shows a run's records as they are written, what a stage's end tells of before it. The past is folded first, unseen.
 * Resolves with a function that follows until the signal aborts, shows what was written until then and throws the reason.
 */
export async function watch(
  log: TopicLog,
  domains: readonly string[],
  progress: Progress,
  signal: AbortSignal,
): Promise<() => Promise<unknown>> {
  const lanes = [
    lane(log, control, (r): ProgressEvent => ({ type: 'control', record: r.value, timestamp: r.timestamp })),
    lane(log, updates, (r): ProgressEvent => ({ type: 'update', record: r.value, timestamp: r.timestamp })),
    lane(
      log,
      evaluations,
      (r): ProgressEvent => ({ type: 'evaluation', record: r.value, timestamp: r.timestamp }),
    ),
  ]
  await takeInOrder(lanes, before, { until: 'end', signal }, (event) => progress.past(event))
  const throughput = await Promise.all(
    domains.map(async (domain) => {
      const topic = rollouts(domain)
      return { topic, from: await log.offset(topic.name, 'latest') }
    }),
  )
  const show = (event: ProgressEvent) => progress.event(event)
  const ordered = async () => {
    try {
      await takeInOrder(lanes, before, { signal }, show)
    } finally {
      if (signal.aborted) await takeInOrder(lanes, before, { until: 'end', signal: never }, show)
    }
  }
  return () =>
    Promise.all([
      ordered(),
      ...throughput.map(({ topic, from }) =>
        follow(log, topic, { from, signal }, ({ value, timestamp }) =>
          progress.event({ type: 'throughput', tokens: value.responseTokens.length, rollouts: 1, timestamp }),
        ),
      ),
    ])
}

const never = new AbortController().signal

/** By time, but that a stage's end comes after all of its stage, and the run's end after all. */
function before(a: ProgressEvent, b: ProgressEvent): boolean {
  if (isEndOver(b, a)) return true
  if (isEndOver(a, b)) return false
  if (a.timestamp !== b.timestamp) return a.timestamp < b.timestamp
  // Of one millisecond: what a record of control asked for or closed comes after it, what a stage's end tells of before.
  if (b.type === 'control') return b.record.type === 'stage-end'
  return a.type === 'control' && a.record.type !== 'stage-end'
}

function isEndOver(end: ProgressEvent, other: ProgressEvent): boolean {
  if (end.type !== 'control' || (other.type !== 'update' && other.type !== 'evaluation')) return false
  const { record } = end
  return record.type === 'run-end' || (record.type === 'stage-end' && record.stage === other.record.stage)
}
