const z = 1.959963984540054

/**
 * 95 % score interval of a share (Wilson 1927): `(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n)`.
 * Unlike the normal one it stays within [0, 1] and is not empty at 0 or 1.
 */
export function wilson(share: number, n: number): [low: number, high: number] {
  const middle = share + (z * z) / (2 * n)
  const half = z * Math.sqrt((share * (1 - share)) / n + (z * z) / (4 * n * n))
  const scale = 1 + (z * z) / n
  return [Math.max(0, (middle - half) / scale), Math.min(1, (middle + half) / scale)]
}
