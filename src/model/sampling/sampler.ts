import type { Sampling } from '../../../topics/common.ts'
import { CascadeError } from '../../../topics/errors.ts'

/** Rows of the decoded batch: `[B, V]` each. */
export interface Distributions {
  /** Softmax of the logits over the temperature (temperature 1 where it is 0): what is drawn from. */
  readonly probs: Float32Array
  /** Softmax of the logits, for rows that {@link wantsRaw}. */
  readonly raw?: Float32Array | undefined
}

/** Whether log-probabilities are reported at temperature 1 and drawn at another. */
export function wantsRaw({ temperature, logprobsMode }: Sampling): boolean {
  return logprobsMode === 'raw' && temperature !== 1 && temperature !== 0
}

/** One draw: the token, and two log-probabilities of it in nats. */
export interface Draw {
  token: number
  /** As reported: over the whole vocabulary, after temperature or, in mode `raw`, before it. */
  logprob: number
  /** Under the distribution that the token was drawn from. Greedy: as reported. */
  drawn: number
}

/**
 * A probability's bucket: exponent and three bits of the mantissa of a float32 from 0 to 1. Positive floats order as their bits.
 */
const bucketShift = 20
const buckets = (0x3f800000 >>> bucketShift) + 1

/**
 * Draws tokens from rows of probabilities, one uniform number a draw, in double precision: the same bits on every machine.
 *
 * A draw inverts the cumulative distribution in the order of token ids, over the tokens kept: the `topK` most probable, then the
 * smallest set of the most probable whose share of those reaches `topP` (Hugging Face's order of the two). Of tokens equally
 * probable at the edge the lower ids are kept. The edge is found by counting into buckets, without sorting the vocabulary.
 */
export class Sampler {
  readonly #masses = new Float64Array(buckets)
  readonly #counts = new Int32Array(buckets)
  #edge = new Float32Array(128)
  /** Least probability kept, and how many tokens of exactly that one. */
  #least = 0
  #ties = 0
  #keptMass = 1

  /**
   * Draws from row `row` with the uniform number `u`, 0 < u < 1, or takes the most probable token at temperature 0.
   *
   * @throws CascadeError ENGINE_FAILED for probabilities that are not numbers: the weights are not finite
   */
  draw({ probs, raw }: Distributions, row: number, vocab: number, u: number, s: Sampling): Draw {
    const p = probs.subarray(row * vocab, (row + 1) * vocab)
    // One logit that is not finite makes the whole row so.
    if (Number.isNaN(p[0]))
      throw new CascadeError('ENGINE_FAILED', 'sampling: expected finite logits, got NaN')
    if (s.temperature === 0) {
      const token = largest(p)
      const logprob = Math.log(p[token]!)
      return { token, logprob, drawn: logprob }
    }
    const cut = s.topP < 1 || (s.topK > 0 && s.topK < vocab)
    if (cut) this.#cut(p, s)
    const token = cut ? this.#pick(p, u) : pick(p, u)
    const own = Math.log(p[token]!)
    const drawn = cut ? own - Math.log(this.#keptMass) : own
    return { token, logprob: wantsRaw(s) ? Math.log(raw![row * vocab + token]!) : own, drawn }
  }

  #cut(p: Float32Array, { topP, topK }: Sampling): void {
    const [masses, counts] = [this.#masses, this.#counts]
    masses.fill(0)
    counts.fill(0)
    const bits = new Int32Array(p.buffer, p.byteOffset, p.length)
    let total = 0
    for (let i = 0; i < p.length; i++) {
      const bucket = bits[i]! >>> bucketShift
      masses[bucket]! += p[i]!
      counts[bucket]! += 1
      total += p[i]!
    }
    const most = topK > 0 && topK < p.length ? topK : p.length
    const mass = most < p.length ? this.#walk(p, bits, most, Infinity) : total
    if (topP < 1) this.#walk(p, bits, most, topP * mass)
  }

  /** Goes down from the most probable token until `most` are kept or their mass reaches `enough`; the mass kept. */
  #walk(p: Float32Array, bits: Int32Array, most: number, enough: number): number {
    let [mass, count, bucket] = [0, 0, buckets - 1]
    for (; bucket > 0; bucket--) {
      const [more, others] = [this.#masses[bucket]!, this.#counts[bucket]!]
      if (count + others >= most || mass + more >= enough) break
      mass += more
      count += others
    }
    const edge = this.#inBucket(p, bits, bucket).sort()
    let at = edge.length - 1
    for (; at >= 0; at--) {
      mass += edge[at]!
      count += 1
      if (count >= most || mass >= enough) break
    }
    at = Math.max(at, 0)
    this.#least = edge[at] ?? 0
    this.#ties = edge.lastIndexOf(this.#least) - at + 1
    this.#keptMass = mass
    return mass
  }

  #inBucket(p: Float32Array, bits: Int32Array, bucket: number): Float32Array {
    const size = this.#counts[bucket]!
    if (this.#edge.length < size) this.#edge = new Float32Array(size)
    let n = 0
    for (let i = 0; n < size; i++) if (bits[i]! >>> bucketShift === bucket) this.#edge[n++] = p[i]!
    return this.#edge.subarray(0, size)
  }

  #pick(p: Float32Array, u: number): number {
    const [bound, least] = [u * this.#keptMass, this.#least]
    let [sum, ties, last] = [0, this.#ties, 0]
    for (let i = 0; i < p.length; i++) {
      const x = p[i]!
      if (x < least || x === 0 || (x === least && --ties < 0)) continue
      sum += x
      last = i
      if (sum > bound) break
    }
    return last
  }
}

function pick(p: Float32Array, u: number): number {
  let [total, sum, last] = [0, 0, 0]
  for (let i = 0; i < p.length; i++) total += p[i]!
  const bound = u * total
  for (let i = 0; i < p.length; i++) {
    const x = p[i]!
    if (x === 0) continue
    sum += x
    last = i
    if (sum > bound) break
  }
  return last
}

function largest(p: Float32Array): number {
  let best = 0
  for (let i = 1; i < p.length; i++) if (p[i]! > p[best]!) best = i
  return best
}
