import type { Credit } from './credit.ts'
import type { FetchLimit, Start } from './ports.ts'

/** What happens to new records while credit is used up. */
export type Overflow = 'suspend' | 'sliding' | 'dropping'

export interface SourceOptions {
  /** The reader whose positions it starts from and whose settling the deliveries stand for. */
  group?: string
  credit: Credit
  /** Where a reader without a group starts. @default 'earliest' */
  from?: Start
  /** Aborting stops the intake: the output completes, and what was handed out can still be written. */
  signal?: AbortSignal
  /** Completes before this offset, or at the end as it is when subscribed. Without it the topic is followed. */
  until?: number | 'end'
  /**
   * `suspend`: nothing is read that has no room. `sliding` skips all but the newest records that fit, `dropping`
   * skips all that came meanwhile; both are refused for a named reader, which would lose what it should settle.
   *
   * @default 'suspend'
   */
  overflow?: Overflow
  /** Told how many records `sliding` or `dropping` has skipped. */
  onDrop?: (records: number) => void
  /**
   * A record that cannot be decoded: `fail` is an error of the stream; `dead-letter` commits its raw bytes to
   * `<topic>.dlq` together with its position and goes on.
   *
   * @default 'fail'
   */
  onDecodeError?: 'fail' | 'dead-letter'
  /** Most of one read. @default 1,024 records and 4 MiB */
  page?: FetchLimit
}
