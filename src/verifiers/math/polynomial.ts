import { limits, Unreadable } from './limits.ts'
import * as q from './rational.ts'

/** A product of atoms to rational powers, by atom key. */
export type Monomial = ReadonlyMap<string, q.Rational>

export interface Term {
  readonly c: q.Rational
  readonly m: Monomial
}

/** Terms by their monomial's key; none has the coefficient 0. */
export type Polynomial = ReadonlyMap<string, Term>

/** A polynomial over another; the lower one is not 0. */
export interface Fraction {
  readonly top: Polynomial
  readonly bottom: Polynomial
}

/** What an atom key stands for where its powers can be reduced: a prime, the imaginary unit, or a sum under a root. */
export type Atom = { prime: bigint } | { i: true } | { sum: Polynomial } | { free: true } | { opaque: true }

const noMonomial: Monomial = new Map()
export const constant = (c: q.Rational): Polynomial =>
  q.isZero(c) ? new Map() : new Map([['', { c, m: noMonomial }]])
export const unit = constant(q.one)

export function keyOf(p: Polynomial): string {
  return [...p.entries()]
    .map(([key, t]) => `${q.print(t.c)}*${key}`)
    .sort()
    .join('+')
}

export function monomialKey(m: Monomial): string {
  return [...m.entries()]
    .map(([atom, e]) => `${atom}^${q.print(e)}`)
    .sort()
    .join('.')
}

/** The value where it is a plain number. */
export function asNumber(p: Polynomial): q.Rational | undefined {
  if (p.size === 0) return q.zero
  return p.size === 1 ? p.get('')?.c : undefined
}

/** Exact arithmetic on polynomials over one comparison's atoms, under one budget of products. */
export class Algebra {
  readonly atoms = new Map<string, Atom>()
  #products = 0

  atom(key: string, info: Atom, exponent = q.one): Polynomial {
    this.atoms.set(key, info)
    return this.#reduced([{ c: q.one, m: new Map([[key, exponent]]) }])
  }

  plus(a: Polynomial, b: Polynomial): Polynomial {
    const sum = new Map(a)
    for (const [key, t] of b) put(sum, key, t)
    return sum
  }

  scaled(a: Polynomial, by: q.Rational): Polynomial {
    return q.isZero(by)
      ? new Map()
      : new Map([...a].map(([key, t]) => [key, { c: q.times(t.c, by), m: t.m }]))
  }

  times(a: Polynomial, b: Polynomial): Polynomial {
    this.#spend(a.size * b.size)
    const terms: Term[] = []
    for (const x of a.values())
      for (const y of b.values()) terms.push({ c: q.times(x.c, y.c), m: joined(x.m, y.m) })
    return this.#reduced(terms)
  }

  power(a: Polynomial, exponent: bigint): Polynomial {
    let result = unit
    for (let i = 0n; i < exponent; i++) result = this.times(result, a)
    return result
  }

  /** The same monomial to a rational power; the coefficient is left out. */
  monomialPower(m: Monomial, by: q.Rational): Polynomial {
    return this.#reduced([{ c: q.one, m: new Map([...m].map(([key, e]) => [key, q.times(e, by)])) }])
  }

  #spend(n: number): void {
    this.#products += n
    if (this.#products > limits.products) throw new Unreadable('too many products')
  }

  /** Sums up terms; whole powers of primes, of i and of sums under roots are multiplied out. */
  #reduced(terms: readonly Term[]): Polynomial {
    const sum = new Map<string, Term>()
    for (const term of terms) {
      let { c } = term
      const m = new Map<string, q.Rational>()
      let factor: Polynomial | undefined
      for (const [key, e] of term.m) {
        const info = this.atoms.get(key)!
        if (q.isZero(e)) continue
        if ('free' in info || 'opaque' in info) m.set(key, e)
        else {
          const low = 'i' in info ? (e.n / (e.d * 2n)) * 2n : floor(e)
          const rest = q.add(e, q.whole(-low))
          if ('prime' in info) c = q.times(c, q.power(q.whole(info.prime), low))
          else if ('i' in info) {
            if (low % 4n !== 0n) c = q.negate(c)
          } else if (low > 0n) factor = this.times(factor ?? unit, this.power(info.sum, low))
          const kept = 'sum' in info && low < 0n ? e : rest
          if ('i' in info && rest.d === 1n && rest.n < 0n) {
            c = q.negate(c)
            m.set(key, q.one)
          } else if (!q.isZero(kept)) m.set(key, kept)
        }
      }
      const simple: Term = { c, m }
      if (factor)
        for (const [key, t] of this.times(new Map([[monomialKey(m), simple]]), factor)) put(sum, key, t)
      else put(sum, monomialKey(m), simple)
      if (sum.size > limits.terms) throw new Unreadable('too many terms')
    }
    return sum
  }
}

function put(sum: Map<string, Term>, key: string, t: Term): void {
  const old = sum.get(key)
  const c = old ? q.add(old.c, t.c) : t.c
  if (q.isZero(c)) sum.delete(key)
  else sum.set(key, { c, m: t.m })
}

function joined(a: Monomial, b: Monomial): Monomial {
  if (a.size === 0) return b
  if (b.size === 0) return a
  const m = new Map(a)
  for (const [key, e] of b) m.set(key, q.add(m.get(key) ?? q.zero, e))
  return m
}

export function floor(a: q.Rational): bigint {
  const down = a.n / a.d
  return a.n < 0n && a.n % a.d !== 0n ? down - 1n : down
}
