import { isCascadeError, type Topic } from '../topics/index.ts'

/** A stored value that its topic cannot decode, with the bytes as they are. */
export class Undecodable {
  readonly raw: Uint8Array
  readonly error: Error

  constructor(raw: Uint8Array, error: Error) {
    this.raw = raw
    this.error = error
  }
}

/** The topic with decoding errors as values: a log decodes with what it is handed. */
export function tolerant<T>(topic: Topic<T>): Topic<T> {
  return {
    ...topic,
    decode(bytes, where, part) {
      try {
        return topic.decode(bytes, where, part)
      } catch (error) {
        if (!isCascadeError(error)) throw error
        // A copy, which `slice` of a Buffer is not: the log may reuse its memory after the page is read.
        const raw = Uint8Array.prototype.slice.call(bytes, part?.start, part?.end)
        return new Undecodable(raw, error) as T
      }
    },
  }
}
