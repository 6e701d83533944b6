/** Numbers drawn from a seed: the same seed, the same numbers. */
export class Draw {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** From 0 up to, not including, 1: a Weyl sequence, its steps mixed by the finaliser of MurmurHash3. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0
    let x = this.#state
    x = Math.imul(x ^ (x >>> 16), 0x85ebca6b)
    x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35)
    return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32
  }

  /** A whole number, both ends included. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  /** One that is not 0. */
  nonZero(low: number, high: number): number {
    const value = this.int(low, high - 1)
    return value >= 0 ? value + 1 : value
  }

  chance(share: number): boolean {
    return this.next() < share
  }

  of<T>(values: readonly T[]): T {
    return values[this.int(0, values.length - 1)]!
  }

  shuffled<T>(values: readonly T[]): T[] {
    const copy = [...values]
    for (let i = copy.length - 1; i > 0; i--) {
      const j = this.int(0, i)
      ;[copy[i], copy[j]] = [copy[j]!, copy[i]!]
    }
    return copy
  }
}
