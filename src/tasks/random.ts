/**
 * A counter-based random stream: the n-th draw is a pure function of the keys and n, so that item 40,000
 * of a pool costs no more than item 0 and no state has to be saved.
 *
 * Keys are folded with the body and finaliser of MurmurHash3 (x86, 32 bit) and a draw finalises key and counter
 * twice. Good enough to draw tasks from, not for cryptography.
 */
export interface Random {
  /** The next 32 random bits, as a number from 0 to 2^32 - 1. */
  bits(): number
  /** An integer from 0 to n - 1, for n up to 2^16 (the bias stays below 2^-16). */
  below(n: number): number
  /** A number in [0, 1). */
  unit(): number
  pick<T>(list: readonly T[]): T
}

export type Key = string | number

/** 32 bits that depend on every key, on their order and on their kind: 1 and '1' differ. */
export function hash(...keys: readonly Key[]): number {
  let h = 0x9747b28c
  let words = 0
  const add = (word: number): void => {
    h ^= Math.imul(rotate(Math.imul(word, 0xcc9e2d51), 15), 0x1b873593)
    h = (Math.imul(rotate(h, 13), 5) + 0xe6546b64) | 0
    words++
  }
  for (const key of keys) {
    if (typeof key === 'string') {
      for (let i = 0; i < key.length; i++) add(key.charCodeAt(i))
      add(0x10000 + key.length)
    } else {
      if (!Number.isSafeInteger(key) || key < 0)
        throw new RangeError(`expected a whole number from 0 on as a key, got ${key}`)
      add(key >>> 0)
      add(Math.floor(key / 2 ** 32))
    }
  }
  return finalise(h ^ words)
}

export function random(...keys: readonly Key[]): Random {
  const key = hash(...keys)
  const key2 = hash('second', ...keys)
  let counter = 0
  const bits = (): number => {
    const n = counter++
    return finalise((finalise(key + Math.imul(n, 0x9e3779b9)) ^ key2) + n)
  }
  const below = (n: number): number => Math.floor((bits() / 2 ** 32) * n)
  return {
    bits,
    below,
    unit: () => bits() / 2 ** 32,
    pick<T>(list: readonly T[]): T {
      if (list.length === 0) throw new RangeError('expected a list with an element to pick, got an empty one')
      return list[below(list.length)]!
    },
  }
}

function rotate(x: number, by: number): number {
  return (x << by) | (x >>> (32 - by))
}

function finalise(x: number): number {
  let h = x | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
