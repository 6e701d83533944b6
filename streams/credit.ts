import { asapScheduler } from 'rxjs'
import { CascadeError } from '../topics/index.ts'
import type { FetchLimit } from './ports.ts'

/** A window on memory, counted in records and bytes. What is in flight between a source and a sink fits inside it. */
export interface Credit {
  readonly limit: FetchLimit
  readonly inUse: FetchLimit
  /** The most that was ever in use at once, of each. Beyond the limit only by an overdraft. */
  readonly peak: FetchLimit
  /** Requests that wait for credit. */
  readonly waiting: number
  /** Takes all of it or nothing; false where it does not fit, or where others wait already. */
  take(records: number, bytes: number): boolean
  /** Takes what is free, at most so much; nothing of either where one of the two is used up, or others wait. */
  takeUpTo(records: number, bytes: number): FetchLimit
  /**
   * Takes the amount as soon as it fits, first come first served, then calls back, never within this call nor
   * within {@link release}. What is larger than the whole window fits once the window is empty: an overdraft, so that one
   * huge record is slow but never stuck. Returns a function that withdraws the request.
   */
  request(records: number, bytes: number, granted: () => void): () => void
  /** Only marks and wakes waiters later: pulling from inside a release would grow the stack with every record. */
  release(records: number, bytes: number): void
}

/** @throws `CONFIG_INVALID` where a limit is not at least 1. */
export function createCredit(limit: FetchLimit): Credit {
  for (const name of ['records', 'bytes'] as const) {
    if (!(limit[name] >= 1)) {
      throw new CascadeError('CONFIG_INVALID', `credit: expected ${name} of at least 1, got ${limit[name]}`)
    }
  }
  return new Window(limit)
}

interface Request {
  readonly records: number
  readonly bytes: number
  readonly granted: () => void
}

class Window implements Credit {
  readonly limit: FetchLimit
  #records = 0
  #bytes = 0
  #peakRecords = 0
  #peakBytes = 0
  /** In order of arrival; the head alone decides when anybody is served, so that a large request is not starved. */
  readonly #requests: Request[] = []
  #waking = false

  constructor(limit: FetchLimit) {
    this.limit = Object.freeze({ records: limit.records, bytes: limit.bytes })
  }

  get inUse(): FetchLimit {
    return { records: this.#records, bytes: this.#bytes }
  }

  get peak(): FetchLimit {
    return { records: this.#peakRecords, bytes: this.#peakBytes }
  }

  get waiting(): number {
    return this.#requests.length
  }

  take(records: number, bytes: number): boolean {
    if (this.#requests.length > 0 || !this.#fits(records, bytes)) return false
    this.#add(records, bytes)
    return true
  }

  takeUpTo(records: number, bytes: number): FetchLimit {
    const r = Math.min(records, this.limit.records - this.#records)
    const b = Math.min(bytes, this.limit.bytes - this.#bytes)
    if (this.#requests.length > 0 || r < 1 || b < 1) return none
    this.#add(r, b)
    return { records: r, bytes: b }
  }

  request(records: number, bytes: number, granted: () => void): () => void {
    const request = { records, bytes, granted }
    this.#requests.push(request)
    this.#wake()
    return () => {
      const at = this.#requests.indexOf(request)
      if (at < 0) return
      this.#requests.splice(at, 1)
      this.#wake()
    }
  }

  release(records: number, bytes: number): void {
    if (records > this.#records || bytes > this.#bytes) {
      throw new CascadeError(
        'CREDIT_EXCEEDED',
        `credit: expected a release of at most ${this.#records} records and ${this.#bytes} bytes, got ${records} and ${bytes}`,
      )
    }
    this.#records -= records
    this.#bytes -= bytes
    this.#wake()
  }

  #fits(records: number, bytes: number): boolean {
    return (
      (this.#records + records <= this.limit.records || this.#records === 0) &&
      (this.#bytes + bytes <= this.limit.bytes || this.#bytes === 0)
    )
  }

  #add(records: number, bytes: number): void {
    this.#records += records
    this.#bytes += bytes
    if (this.#records > this.#peakRecords) this.#peakRecords = this.#records
    if (this.#bytes > this.#peakBytes) this.#peakBytes = this.#bytes
  }

  #wake(): void {
    if (this.#waking || this.#requests.length === 0) return
    this.#waking = true
    asapScheduler.schedule(() => {
      this.#waking = false
      for (
        let head = this.#requests[0];
        head && this.#fits(head.records, head.bytes);
        head = this.#requests[0]
      ) {
        this.#requests.shift()
        this.#add(head.records, head.bytes)
        head.granted()
      }
    })
  }
}

const none: FetchLimit = Object.freeze({ records: 0, bytes: 0 })
