export interface BackoffOptions {
  /** Milliseconds before the second try at most; doubled with each further one, up to `maxMs`. */
  baseMs: number
  maxMs: number
  /** From 0 to below 1. */
  random: () => number
}

/**
 * Milliseconds to wait after so many failed tries: between half of the bound and all of it, at random, so that those who failed together
 * do not come back together.
 */
export function backoffMs(tries: number, { baseMs, maxMs, random }: BackoffOptions): number {
  const bound = Math.min(maxMs, baseMs * 2 ** (tries - 1))
  return bound * (0.5 + random() / 2)
}
