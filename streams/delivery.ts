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

/** A delivery of another value that stands for the same input: it takes over positions and credit. */
export function derive<A, B>(from: Delivery<A>, value: B): Delivery<B> {
  return { value, positions: from.positions, bytes: from.bytes, release: () => from.release() }
}
