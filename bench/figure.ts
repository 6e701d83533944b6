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
