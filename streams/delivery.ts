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
  /**
   * Gives the credit back: once written, or once inside an operator's bounded state. Calling it again returns nothing more,
   * and tells the source that a commit may have moved its floor: whoever commits calls it after the commit.
   */
  release(): void
}

/** Something that gives credit back, once. */
export interface Releasable {
  release(): void
}

/** The one shape of delivery that these operators make: a plain class, since millions of them are made. */
export class Carried<T> implements Delivery<T> {
  readonly value: T
  readonly positions: readonly Position[]
  readonly bytes: number
  /** Who gives the credit back; shared by all that stand for the same input. */
  readonly root: Releasable

  constructor(value: T, positions: readonly Position[], bytes: number, root: Releasable) {
    this.value = value
    this.positions = positions
    this.bytes = bytes
    this.root = root
  }

  release(): void {
    this.root.release()
  }
}

/** A delivery of another value that stands for the same input: it takes over positions and credit, and lets go of the value. */
export function derive<B>(from: Delivery<unknown>, value: B): Delivery<B> {
  return new Carried(value, from.positions, from.bytes, rootOf(from))
}

/** One value made of many deliveries: it settles what all of them settle and holds the credit of all. */
export function fanIn<A, B>(from: readonly Delivery<A>[], value: B): Delivery<B> {
  const positions: Position[] = []
  const roots: Releasable[] = []
  let bytes = 0
  for (const d of from) {
    for (const p of d.positions) positions.push(p)
    roots.push(rootOf(d))
    bytes += d.bytes
  }
  return new Carried(value, positions, bytes, new Together(roots))
}

export function rootOf(from: Delivery<unknown>): Releasable {
  return from instanceof Carried ? from.root : from
}

/** Releases several as one. */
export class Together implements Releasable {
  readonly #roots: readonly Releasable[]

  constructor(roots: readonly Releasable[]) {
    this.#roots = roots
  }

  release(): void {
    for (const root of this.#roots) root.release()
  }
}
