import type { Topic } from '../topics/index.ts'
import type { Envelope, TopicLog } from './ports.ts'

const page = { records: 256, bytes: 8 * 1024 * 1024 }

/**
 * Every record of a topic from `from` on, without settling anything: for readers that rebuild their state
 * from the log. The handler runs before the next page is asked for, so nothing queues up.
 * Returns where it stopped: at the end where `until` is `end`, otherwise only by the signal, whose reason it throws.
 */
export async function follow<T>(
  log: TopicLog,
  topic: Topic<T>,
  options: { from: number; until?: 'end'; signal: AbortSignal },
  handle: (record: Envelope<T>) => void | Promise<void>,
): Promise<number> {
  let next = options.from
  for (;;) {
    options.signal.throwIfAborted()
    const fetched = await log.fetch(topic, next, page)
    for (const record of fetched.records) await handle(record)
    next = fetched.next
    if (fetched.records.length > 0) continue
    if (options.until === 'end') return next
    await log.wait(topic.name, next, options.signal)
  }
}

/** The one record at an offset. @throws `LOG_OFFSET_GONE` where it was removed. */
export async function recordAt<T>(
  log: Pick<TopicLog, 'fetch'>,
  topic: Topic<T>,
  offset: number,
): Promise<Envelope<T> | undefined> {
  const { records } = await log.fetch(topic, offset, { records: 1, bytes: 1 })
  const [record] = records
  return record?.offset === offset ? record : undefined
}
