import type { Retention } from '../../../topics/topic.ts'
import type { Entry } from './entry.ts'
import type { TopicRow } from './layout.ts'

/** What one transaction removes from the head of a topic. */
export interface Removal {
  readonly row: TopicRow
  readonly lasts: readonly number[]
  readonly records: number
  readonly bytes: number
}

/** Entries one transaction removes at most: freeing pages holds LMDB's write lock. */
const entriesAtOnce = 256

/**
 * Finds the entries at a topic's head that retention lets go: all their records older than `ageMs`, or the
 * topic larger than `bytes` with them, and none at or beyond `limit`, which some reader still needs. Pure but
 * for `entryAt`.
 */
export function planRemoval(
  row: TopicRow,
  retention: Retention,
  now: number,
  limit: number,
  entryAt: (row: TopicRow, offset: number) => Entry | undefined,
): Removal | undefined {
  const lasts: number[] = []
  let { earliest, bytes } = row
  while (earliest < row.next && lasts.length < entriesAtOnce) {
    const entry = entryAt(row, earliest)
    if (!entry || entry.last >= limit) break
    const old = retention.ageMs !== undefined && entry.timestamp < now - retention.ageMs
    const large = retention.bytes !== undefined && bytes > retention.bytes
    if (!old && !large) break
    lasts.push(entry.last)
    earliest = entry.last + 1
    bytes -= entry.frameBytes
  }
  if (lasts.length === 0) return undefined
  return {
    row: { ...row, earliest, bytes },
    lasts,
    records: earliest - row.earliest,
    bytes: row.bytes - bytes,
  }
}
