import type { Position } from './ports.ts'

/**
 * A value on its way through operators. It carries the input positions that it came from, through fan-out
 * and fan-in, so that the sink knows what its commit settles, and the credit that it holds.
 */
export interface Delivery<T> {
  readonly value: T
  readonly positions: readonly Position[]
  /** Bytes of credit held, returned by {@link release}. */
  readonly bytes: number
  /** Gives the credit back: once written, or once inside an operator's bounded state. Calling it again does nothing. */
  release(): void
}
