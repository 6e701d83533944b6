import { type DeadLetter, deadLetters, isCascadeError } from '../topics/index.ts'
import type { Append, Envelope } from './ports.ts'

export interface Failure {
  operator: string
  source: Pick<Envelope<unknown>, 'topic' | 'offset'>
  raw: Uint8Array
  error: unknown
  /** @default the error's own */
  code?: string
  attempts: number
}

/** The dead letter of one record; its id is the same however often the record is tried. */
export function deadLetter(failure: Failure): Append {
  const { operator, source, raw, attempts } = failure
  const error = failure.error instanceof Error ? failure.error : new Error(String(failure.error))
  const value: DeadLetter = {
    id: `${operator}:${source.topic}:${source.offset}`,
    operator,
    sourceTopic: source.topic,
    sourceOffset: source.offset,
    code: failure.code ?? codeOf(error, 'STREAM_PROTOCOL'),
    message: error.message,
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    attempts,
    raw,
  }
  return { topic: deadLetters(source.topic), value } as Append
}

/** The stable code of an error, or `unknown` for one that has none. */
export function codeOf(error: unknown, unknown: string): string {
  return isCascadeError(error) ? error.code : unknown
}
