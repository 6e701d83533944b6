import type { Clock, Commit, Committed, TopicLog } from '../../../streams/ports.ts'
import type { CascadeError } from '../../../topics/errors.ts'
import type { Topic } from '../../../topics/topic.ts'
import type { InboxEntry } from './inbox.ts'

export interface LogOptions {
  /** The log's folder; `append` makes it. */
  readonly dir: string
  /** One process at a time appends; any number reads. */
  readonly mode: 'append' | 'read'
  /** Where timestamps come from. */
  readonly clock: Clock
  /** Records that a reader may settle beyond its floor. @default 4096 */
  readonly window?: number
  /** Records of one transaction are stored together up to about this size. @default 65536 */
  readonly entryBytes?: number
  /** @default 268435456 (256 MiB) */
  readonly maxRecordBytes?: number
  /** Address space reserved for the database at first; it grows by itself. @default 68719476736 (64 GiB) */
  readonly mapBytes?: number
  /** How often other processes' records and commands are looked for, in milliseconds. @default 25 */
  readonly pollMs?: number
  /** What goes wrong without stopping the log, such as a damaged file in the inbox. @default process.emitWarning */
  readonly onWarning?: (error: CascadeError) => void
}

/** What retention has removed of a topic. */
export interface Retained {
  readonly topic: string
  readonly records: number
  readonly bytes: number
}

/** A topic log in a folder, on LMDB. */
export interface EmbeddedLog extends TopicLog {
  readonly dir: string
  readonly mode: 'append' | 'read'
  /** Raised with each opening for appending; 0 for a reader. A commit of an older epoch is refused with `LOG_FENCED`. */
  readonly epoch: number
  /** Besides the port: @throws `STREAM_PROTOCOL` where an inbox entry is unknown or taken already. */
  commit(tx: Commit): Promise<Committed>
  /**
   * Commands that other processes submit, in order, each once, until the signal aborts. One that no commit
   * takes is handed out again after a restart. @throws `LOG_READ_ONLY`
   */
  inbox(signal: AbortSignal): AsyncIterable<InboxEntry>
  /** Keeps records from `offset` on from {@link retain} until it is disposed. @throws `LOG_READ_ONLY` */
  hold(topic: string, offset: number): Disposable
  /**
   * Removes what the topics' retention lets go, never past the floor of a reader (of this log's past, or that
   * asked for its {@link position} since it was opened) nor past a hold. Whole entries go, oldest first.
   *
   * @throws `LOG_READ_ONLY`, `LOG_FULL` (removing needs a few pages), `LOG_FENCED`.
   */
  retain(topics: readonly Pick<Topic<unknown>, 'name' | 'retention'>[]): Promise<Retained[]>
  /** Waits for the commits under way; what comes later fails with `LOG_CLOSED`. */
  close(): Promise<void>
}
