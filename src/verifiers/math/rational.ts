import { limits, Unreadable } from './limits.ts'

/** An exact fraction in lowest terms; `d` is above 0. */
export interface Rational {
  readonly n: bigint
  readonly d: bigint
}

export const zero: Rational = { n: 0n, d: 1n }
export const one: Rational = { n: 1n, d: 1n }

export const whole = (n: bigint | number): Rational => ({ n: BigInt(n), d: 1n })
export const isZero = (a: Rational): boolean => a.n === 0n
export const isWhole = (a: Rational): boolean => a.d === 1n
export const same = (a: Rational, b: Rational): boolean => a.n === b.n && a.d === b.d
export const negate = (a: Rational): Rational => ({ n: -a.n, d: a.d })

/** In lowest terms; throws {@link Unreadable} for a denominator of 0 and for numbers above the budget. */
export function ratio(n: bigint, d: bigint): Rational {
  if (d === 0n) throw new Unreadable('division by zero')
  if (tooLong(n) || tooLong(d)) throw new Unreadable('number too long')
  if (d === 1n) return { n, d }
  const g = gcd(n < 0n ? -n : n, d < 0n ? -d : d)
  const sign = d < 0n ? -1n : 1n
  return { n: (sign * n) / g, d: (sign * d) / g }
}

export function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b]
  while (y !== 0n) [x, y] = [y, x % y]
  return x
}

export function add(a: Rational, b: Rational): Rational {
  return a.d === 1n && b.d === 1n ? ratio(a.n + b.n, 1n) : ratio(a.n * b.d + b.n * a.d, a.d * b.d)
}
export const times = (a: Rational, b: Rational): Rational => ratio(a.n * b.n, a.d * b.d)
export const over = (a: Rational, b: Rational): Rational => ratio(a.n * b.d, a.d * b.n)
export const less = (a: Rational, b: Rational): boolean => a.n * b.d < b.n * a.d

/** `a` to a whole power; throws {@link Unreadable} before it would compute a number above the budget. */
export function power(a: Rational, exponent: bigint): Rational {
  const e = exponent < 0n ? -exponent : exponent
  if (a.d === 1n && a.n >= -1n && a.n <= 1n) {
    if (e === 0n) return one
    if (a.n === 0n && exponent < 0n) throw new Unreadable('division by zero')
    return a.n === -1n && e % 2n === 0n ? one : a
  }
  if (e * BigInt(Math.max(bits(a.n), bits(a.d)) - 1) > BigInt(limits.bits))
    throw new Unreadable('power too large')
  return exponent < 0n ? ratio(a.d ** e, a.n ** e) : ratio(a.n ** e, a.d ** e)
}

/** The text of a decimal number: optional sign, digits, optional point. */
export function decimal(text: string): Rational {
  const point = text.indexOf('.')
  if (text.length > limits.bits / 4) throw new Unreadable('number too long')
  if (point < 0) return ratio(BigInt(text), 1n)
  const places = text.length - point - 1
  const digits = text.slice(0, point) + text.slice(point + 1)
  return ratio(digits === '' || digits === '-' ? 0n : BigInt(digits), 10n ** BigInt(places))
}

export const print = (a: Rational): string => (a.d === 1n ? `${a.n}` : `${a.n}/${a.d}`)

/** The nearest double, without the overflow of `Number(n) / Number(d)`. */
export function toDouble(a: Rational): number {
  const long = Math.max(bits(a.n), bits(a.d))
  if (long < 1000) return Number(a.n) / Number(a.d)
  const shift = bits(a.n) - bits(a.d) - 64
  const q = shift > 0 ? (a.n >> BigInt(shift)) / a.d : (a.n << BigInt(-shift)) / a.d
  return Number(q) * 2 ** shift
}

function bits(n: bigint): number {
  const hex = (n < 0n ? -n : n).toString(16)
  return (hex.length - 1) * 4 + Number.parseInt(hex[0]!, 16).toString(2).length
}

const longest = 1n << BigInt(limits.bits)
function tooLong(n: bigint): boolean {
  return n > longest || n < -longest
}
