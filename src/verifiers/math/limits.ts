/**
 * Every budget that keeps a judgement short whatever an answer holds. All count sizes, none reads a clock, so the same answer gets the
 * same verdict on every machine.
 */
export const limits = {
  /** Characters at the end of a response that are searched for its answer. */
  tail: 65_536,
  /** Characters of one answer. */
  answer: 8_192,
  /** Depth of brackets and arguments. */
  depth: 48,
  tokens: 3_000,
  /** Items of a list, a set, a tuple. */
  items: 128,
  /** Bits of an exact whole number. */
  bits: 16_384,
  /** Terms of an expanded polynomial. */
  terms: 600,
  /** Products of two terms in one comparison. */
  products: 60_000,
  /** Whole number whose factorial is exact. */
  factorial: 1_000n,
} as const

/** A budget is used up, or a text is no mathematics: the caller takes another way. */
export class Unreadable extends Error {
  override readonly name = 'Unreadable'
}
