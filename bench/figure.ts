/** One measured figure, printed as one JSON line. */
export interface Figure {
  bench: string
  figure: string
  ours: number
  peer: number
  /** How many times better ours is than the peer: above 1 is better. */
  ratio: number
  unit: string
  /** Duration of the whole measurement. */
  seconds: number
}

/** What a file `bench/NAME.ts` exports; its name is the bench's. */
export interface Bench {
  /** One line for the list: what is measured, against what. */
  readonly summary: string
  /**
   * Measures with the defaults that `bench/RESULTS.md` states, ours and the peer interleaved. Figures may come one by one (an async
   * generator) or all at the end.
   *
   * @throws where a peer is missing, saying how to install it
   */
  run(): AsyncIterable<Figure> | Promise<Iterable<Figure>>
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[sorted.length >> 1]!
}
