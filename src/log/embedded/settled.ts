import type { PositionState } from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/errors.ts'

/**
 * What a reader has settled of a topic: all below the floor and a set beyond it. Pure; stored as the floor and
 * a bitmap of the offsets from `floor + 1` on, so that a full window of 4,096 costs 512 bytes.
 */
export class SettledSet {
  #floor: number
  readonly #beyond: Set<number>

  constructor(floor = 0, beyond: Iterable<number> = []) {
    this.#floor = floor
    this.#beyond = new Set(beyond)
  }

  get floor(): number {
    return this.#floor
  }

  state(): PositionState {
    return { floor: this.#floor, beyond: Object.freeze([...this.#beyond].sort((a, b) => a - b)) }
  }

  /**
   * Verifies that all of `offsets` (ascending) can be settled; changes nothing.
   *
   * @throws `STREAM_PROTOCOL` where one is settled already or was never written (`next` is the topic's next
   * offset); `WINDOW_EXCEEDED` where one lies `window` or more beyond the floor that those before it leave.
   */
  check(offsets: readonly number[], next: number, window: number, reader: string): void {
    let floor = this.#floor
    let previous = -1
    for (const offset of offsets) {
      if (!Number.isSafeInteger(offset) || offset < 0 || offset >= next) {
        throw protocol(reader, offset, `expected an offset below ${next}, the topic's end`)
      }
      if (offset < floor || offset === previous || this.#beyond.has(offset)) {
        throw protocol(reader, offset, 'expected an offset not settled yet')
      }
      if (offset - floor >= window) {
        throw new CascadeError(
          'WINDOW_EXCEEDED',
          `${reader}: expected offsets less than ${window} beyond the floor ${floor}, got ${offset}`,
          { context: { reader, offset, floor, window } },
        )
      }
      if (offset === floor) {
        floor++
        while (this.#beyond.has(floor)) floor++
      }
      previous = offset
    }
  }

  /** Settles what {@link check} has passed. */
  settle(offset: number): void {
    if (offset !== this.#floor) {
      this.#beyond.add(offset)
      return
    }
    this.#floor++
    while (this.#beyond.delete(this.#floor)) this.#floor++
  }

  /** Records below `earliest` are gone, so nobody can settle them any more. */
  raise(earliest: number): void {
    if (earliest <= this.#floor) return
    for (const offset of this.#beyond) if (offset < earliest) this.#beyond.delete(offset)
    this.#floor = earliest
    while (this.#beyond.delete(this.#floor)) this.#floor++
  }

  encode(): Buffer {
    let last = this.#floor
    for (const offset of this.#beyond) if (offset > last) last = offset
    const bytes = Buffer.alloc(8 + Math.ceil((last - this.#floor) / 8))
    bytes.writeDoubleLE(this.#floor)
    for (const offset of this.#beyond) {
      const bit = offset - this.#floor - 1
      bytes[8 + (bit >> 3)]! |= 1 << (bit & 7)
    }
    return bytes
  }

  static decode(bytes: Buffer): SettledSet {
    const floor = bytes.readDoubleLE()
    const beyond: number[] = []
    for (let i = 8; i < bytes.length; i++) {
      for (let bit = 0; bit < 8; bit++) {
        if (bytes[i]! & (1 << bit)) beyond.push(floor + 1 + (i - 8) * 8 + bit)
      }
    }
    return new SettledSet(floor, beyond)
  }
}

function protocol(reader: string, offset: number, expected: string): CascadeError {
  return new CascadeError('STREAM_PROTOCOL', `${reader}: ${expected}, got ${offset}`, {
    context: { reader, offset },
  })
}
