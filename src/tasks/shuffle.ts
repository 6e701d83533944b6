import { type Key, random } from './random.ts'

/**
 * A permutation of 0 to n - 1 that depends on the keys alone (Fisher-Yates, so that every order is as likely
 * as any other). About 5 ms for 65,536.
 */
export function shuffled(n: number, ...keys: readonly Key[]): Uint32Array {
  const r = random('shuffle', ...keys)
  const order = Uint32Array.from({ length: n }, (_, i) => i)
  for (let i = n - 1; i > 0; i--) {
    const j = r.below(i + 1)
    const at = order[i]!
    order[i] = order[j]!
    order[j] = at
  }
  return order
}
