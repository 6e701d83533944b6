/** What a draw depends on, besides sample index and position. Nothing else does: not batching, not order of calls. */
export interface NoiseSeed {
  /** Seed of the run; a safe integer. */
  run: number
  stage: string
  /** Index of the admission within the stage. */
  admission: number
}

/**
 * The uniform numbers of one group: `(sample, position) => u` with 0 < u < 1. A counter-based generator
 * (Philox4x32-10, Salmon, Moraes, Dror and Shaw 2011): the counter is position, sample and admission; the key
 * is drawn from run and stage. There is no state, so the order of calls cannot matter.
 *
 * u has 22 random bits and keeps off both ends by 2^-23: `u * mass` stays below a sum of the same masses in any order, so an
 * inverse-CDF search never runs past the last token that has mass.
 */
export function noise(seed: NoiseSeed): (sample: number, position: number) => number {
  const [k0, k1] = streamKey(seed.run, seed.stage)
  const low = seed.admission >>> 0
  const high = Math.floor(seed.admission / 2 ** 32) >>> 0
  return (sample, position) => {
    const word = philox4x32([position >>> 0, sample >>> 0, low, high], [k0, k1])[0]!
    return ((word >>> 10) + 0.5) / 2 ** 22
  }
}

const keys = new Map<string, readonly [number, number]>()

/** Two 32-bit words from run and stage; names of any length are folded in, one code unit a block. */
function streamKey(run: number, stage: string): readonly [number, number] {
  const name = `${run}:${stage}`
  const known = keys.get(name)
  if (known) return known
  let state: readonly number[] = [run >>> 0, Math.floor(run / 2 ** 32) >>> 0, stage.length, 0]
  for (let i = 0; i <= stage.length; i++) {
    const unit = i < stage.length ? stage.charCodeAt(i) : 0x10000
    state = philox4x32(state, [unit, i])
  }
  const key = [state[0]!, state[1]!] as const
  keys.set(name, key)
  return key
}

/** One block of Philox4x32-10: four 32-bit words from a four-word counter and a two-word key. */
export function philox4x32(counter: readonly number[], key: readonly number[]): readonly number[] {
  let [c0, c1, c2, c3] = counter as [number, number, number, number]
  let [k0, k1] = key as [number, number]
  for (let round = 0; round < 10; round++) {
    const high0 = multiplyHigh(0xd2511f53, c0)
    const low0 = Math.imul(0xd2511f53, c0)
    const high1 = multiplyHigh(0xcd9e8d57, c2)
    const low1 = Math.imul(0xcd9e8d57, c2)
    c0 = (high1 ^ c1 ^ k0) >>> 0
    c1 = low1 >>> 0
    c2 = (high0 ^ c3 ^ k1) >>> 0
    c3 = low0 >>> 0
    k0 = (k0 + 0x9e3779b9) >>> 0
    k1 = (k1 + 0xbb67ae85) >>> 0
  }
  return [c0, c1, c2, c3]
}

/** Upper 32 bits of the 64-bit product of two unsigned 32-bit numbers. */
function multiplyHigh(a: number, b: number): number {
  const [a0, a1, b0, b1] = [a & 0xffff, a >>> 16, b & 0xffff, b >>> 16]
  const low = a0 * b0
  // Below 2^33: exact as a double.
  const middle = a1 * b0 + (low >>> 16)
  const middle2 = a0 * b1 + (middle % 0x10000)
  return (a1 * b1 + Math.floor(middle / 0x10000) + Math.floor(middle2 / 0x10000)) >>> 0
}
