import { follow } from '../../streams/follow.ts'
import type { Envelope, TopicLog } from '../../streams/ports.ts'
import { CascadeError, type Topic } from '../../topics/index.ts'

/** A place in a topic as a person writes it: `earliest`, `latest`, an offset, or an ISO time. @throws `USAGE` */
export async function placeOf(log: TopicLog, topic: string, text: string, option: string): Promise<number> {
  if (text === 'earliest' || text === 'latest') return log.offset(topic, text)
  if (/^\d{1,15}$/.test(text)) return Number(text)
  const timestamp = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(timestamp)) return log.offset(topic, { timestamp })
  throw new CascadeError(
    'USAGE',
    `${option}: expected earliest, latest, an offset or an ISO time, got ${text}`,
  )
}

export type Filter = (record: Envelope<unknown>) => boolean

/**
 * `field=value`, where the field is a path into the record's value (`sampling.temperature`), or into its envelope
 * (`key`, `headers.x`) where the value has no such field. @throws `USAGE`
 */
export function filterOf(text: string): Filter {
  const at = text.indexOf('=')
  if (at < 1) throw new CascadeError('USAGE', `--filter: expected field=value, got ${text}`)
  const path = text.slice(0, at).split('.')
  const wanted = text.slice(at + 1)
  return (record) => {
    const found = field(record.value, path) ?? field(record, path)
    return found !== undefined && (typeof found === 'string' ? found : JSON.stringify(found)) === wanted
  }
}

function field(value: unknown, path: readonly string[]): unknown {
  let at = value
  for (const name of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, name)) return undefined
    at = (at as Record<string, unknown>)[name]
  }
  return at
}

export interface ReadOptions {
  readonly from: number
  /** The first offset that is not read; without it the topic is followed. */
  readonly to?: number
  readonly limit?: number
  readonly filters: readonly Filter[]
  readonly signal: AbortSignal
}

/**
 * Hands every record that passes all filters to `handle`, one after the other.
 *
 * @throws the signal's reason; what `fetch` throws
 */
export async function readRecords(
  log: TopicLog,
  topic: Topic<unknown>,
  { from, to = Number.POSITIVE_INFINITY, limit = Number.POSITIVE_INFINITY, filters, signal }: ReadOptions,
  handle: (record: Envelope<unknown>) => Promise<void>,
): Promise<void> {
  if (from >= to || limit === 0) return
  const enough = new AbortController()
  let count = 0
  const finite = to !== Number.POSITIVE_INFINITY
  try {
    await follow(
      log,
      topic,
      {
        from,
        ...(finite ? { until: 'end' as const } : {}),
        signal: AbortSignal.any([signal, enough.signal]),
      },
      async (record) => {
        if (enough.signal.aborted) return
        if (record.offset >= to) return enough.abort()
        if (!filters.every((passes) => passes(record))) return
        await handle(record)
        if (++count >= limit) enough.abort()
      },
    )
  } catch (error) {
    if (!enough.signal.aborted || signal.aborted) throw error
  }
}
