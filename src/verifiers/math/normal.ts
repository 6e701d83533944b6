import type { Node } from './ast.ts'
import { limits, Unreadable } from './limits.ts'
import {
  Algebra,
  asNumber,
  constant,
  type Fraction,
  floor,
  keyOf,
  monomialKey,
  type Polynomial,
  unit,
} from './polynomial.ts'
import * as q from './rational.ts'

/** Turns expressions into fractions of polynomials; equal ones are equal by cross multiplication. */
export class Normaliser {
  readonly #algebra = new Algebra()

  /** Throws {@link Unreadable} where a budget is used up or the node is no single value. */
  fraction(node: Node): Fraction {
    switch (node.k) {
      case 'num':
        return whole(constant(node.v))
      case 'sym':
        return whole(this.#symbol(node.name))
      case 'percent':
        return this.#times(this.fraction(node.arg), whole(constant(q.ratio(1n, 100n))))
      case 'ratio':
        return node.args.length === 2
          ? this.#over(this.fraction(node.args[0]!), this.fraction(node.args[1]!))
          : whole(this.#opaque(`ratio(${this.#keys(node.args)})`))
      case 'add':
        return node.args.map((arg) => this.fraction(arg)).reduce((a, b) => this.#plus(a, b))
      case 'mul':
        return node.args.map((arg) => this.fraction(arg)).reduce((a, b) => this.#times(a, b))
      case 'pow':
        return this.#power(this.fraction(node.base), this.fraction(node.exp))
      case 'fn':
        return this.#function(node.name, node.args)
      default:
        throw new Unreadable(`no single value: ${node.k}`)
    }
  }

  /** `a - b` as a polynomial; none of its terms where they are proven equal. */
  difference(a: Fraction, b: Fraction): Polynomial {
    const { top } = this.#plus(a, { top: this.#algebra.scaled(b.top, q.whole(-1)), bottom: b.bottom })
    return top
  }

  /** The constant by which `a` is a multiple of `b`, if it is found to be one. */
  multiple(a: Fraction, b: Fraction): q.Rational | undefined {
    const x = this.#algebra.times(a.top, b.bottom)
    const y = this.#algebra.times(b.top, a.bottom)
    if (x.size !== y.size || x.size === 0) return undefined
    const [key, first] = [...x][0]!
    const other = y.get(key)
    if (!other) return undefined
    const c = q.over(first.c, other.c)
    return [...x].every(([k, t]) => y.has(k) && q.same(t.c, q.times(c, y.get(k)!.c))) ? c : undefined
  }

  /** Whether all that a difference holds is free variables: then it is 0 only where it has no terms. */
  decides(p: Polynomial): boolean {
    return [...p.values()].every((t) =>
      [...t.m].every(([key, e]) => 'free' in this.#algebra.atoms.get(key)! && q.isWhole(e)),
    )
  }

  #symbol(name: string): Polynomial {
    if (name === 'i') return this.#algebra.atom('i', { i: true })
    return this.#algebra.atom(name, name === 'pi' || name === 'e' ? { opaque: true } : { free: true })
  }

  #opaque(key: string, exponent = q.one): Polynomial {
    return this.#algebra.atom(key, { opaque: true }, exponent)
  }

  #key(node: Node): string {
    try {
      const f = this.fraction(node)
      return `${keyOf(f.top)}//${keyOf(f.bottom)}`
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      // What cannot be expanded still equals itself.
      return JSON.stringify(node, (_, v: unknown) => (typeof v === 'bigint' ? `${v}` : v))
    }
  }

  #keys(nodes: readonly Node[]): string {
    return nodes.map((n) => this.#key(n)).join(',')
  }

  #plus(a: Fraction, b: Fraction): Fraction {
    const g = this.#algebra
    if (keyOf(a.bottom) === keyOf(b.bottom)) return { top: g.plus(a.top, b.top), bottom: a.bottom }
    return {
      top: g.plus(g.times(a.top, b.bottom), g.times(b.top, a.bottom)),
      bottom: g.times(a.bottom, b.bottom),
    }
  }

  #times(a: Fraction, b: Fraction): Fraction {
    return { top: this.#algebra.times(a.top, b.top), bottom: this.#algebra.times(a.bottom, b.bottom) }
  }

  #over(a: Fraction, b: Fraction): Fraction {
    return this.#times(a, this.#inverse(b))
  }

  #inverse(a: Fraction): Fraction {
    if (a.top.size === 0) throw new Unreadable('division by zero')
    if (a.top.size !== 1) return { top: a.bottom, bottom: a.top }
    const [term] = a.top.values()
    const inverted = this.#algebra.scaled(
      this.#algebra.monomialPower(term!.m, q.whole(-1)),
      q.over(q.one, term!.c),
    )
    return whole(this.#algebra.times(a.bottom, inverted))
  }

  #power(base: Fraction, exponent: Fraction): Fraction {
    const e = asNumber(exponent.bottom) && asNumber(exponent.top)
    if (e && keyOf(exponent.bottom) === keyOf(unit)) return this.#rationalPower(base, e)
    const powers = [...exponent.top.values()]
    if (keyOf(exponent.bottom) !== keyOf(unit) || base.top.size !== 1 || powers.length > 16)
      return whole(this.#opaque(`(${this.#show(base)})^(${this.#show(exponent)})`))
    // a^(2n+1) is (a^n)^2 a, so that powers of the same base meet.
    let result = whole(unit)
    for (const t of powers) {
      const numeric = t.m.size === 0
      result = this.#times(
        result,
        numeric ? this.#rationalPower(base, t.c) : this.#symbolicPower(base, monomialKey(t.m), t.c),
      )
    }
    return result
  }

  #symbolicPower(base: Fraction, exponent: string, times: q.Rational): Fraction {
    const [term] = base.top.values()
    const n = asNumber(base.top)
    if (n && n.n > 0n && keyOf(base.bottom) === keyOf(unit)) {
      let result = unit
      for (const [p, k] of [...factors(n.n), ...factors(n.d).map(([f, j]) => [f, -j] as const)])
        result = this.#algebra.times(result, this.#opaque(`${p}^(${exponent})`, q.times(times, q.whole(k))))
      return whole(result)
    }
    const key = `(${keyOf(new Map([['', term!]]))}${[...base.top.keys()].join()}//${keyOf(base.bottom)})^(${exponent})`
    return whole(this.#opaque(key, times))
  }

  #rationalPower(base: Fraction, e: q.Rational): Fraction {
    if (e.n < 0n) return this.#inverse(this.#rationalPower(base, q.negate(e)))
    if (q.isZero(e)) return whole(unit)
    const tooMany = e.n > 64n * e.d
    if (q.isWhole(e) && base.top.size <= 1 && base.bottom.size === 1 && keyOf(base.bottom) === keyOf(unit)) {
      const [term] = base.top.values()
      if (!term) return whole(new Map())
      const raised = this.#algebra.monomialPower(term.m, e)
      return whole(this.#algebra.scaled(raised, q.power(term.c, e.n)))
    }
    if (tooMany) return whole(this.#opaque(`(${this.#show(base)})^${q.print(e)}`))
    if (q.isWhole(e))
      return { top: this.#algebra.power(base.top, e.n), bottom: this.#algebra.power(base.bottom, e.n) }
    return this.#over(whole(this.#root(base.top, e)), whole(this.#root(base.bottom, e)))
  }

  /** `p` to a fractional power: roots of primes, of variables to odd powers, and of whole sums. */
  #root(p: Polynomial, e: q.Rational): Polynomial {
    const g = this.#algebra
    if (p.size === 0) return p
    if (p.size === 1) {
      const [t] = p.values()
      const odd = [...t!.m.values()].every((x) => x.n % 2n !== 0n)
      if (odd && !t!.m.has('i')) return g.times(this.#numberRoot(t!.c, e), g.monomialPower(t!.m, e))
    }
    const content = [...p.values()].reduce((c, t) => ({ n: q.gcd(c.n, abs(t.c.n)), d: lcm(c.d, t.c.d) }), {
      n: 0n,
      d: 1n,
    })
    const scale = q.ratio(content.n, content.d)
    const rest = g.scaled(p, q.over(q.one, scale))
    return g.times(this.#numberRoot(scale, e), g.atom(`[${keyOf(rest)}]`, { sum: rest }, e))
  }

  #numberRoot(c: q.Rational, e: q.Rational): Polynomial {
    const g = this.#algebra
    let result = unit
    if (c.n < 0n) {
      if (e.d !== 2n) return this.#opaque(`(${q.print(c)})^${q.print(e)}`)
      result = g.atom('i', { i: true }, q.whole(e.n))
    }
    for (const [p, k] of [...factors(abs(c.n)), ...factors(c.d).map(([f, j]) => [f, -j] as const)])
      result = g.times(result, g.atom(`#${p}`, { prime: p }, q.times(e, q.whole(k))))
    return result
  }

  #function(name: string, args: readonly Node[]): Fraction {
    const inner = args.map((a) => this.fractionOrNone(a))
    const numbers = inner.map((f) => f && keyOf(f.bottom) === keyOf(unit) && asNumber(f.top))
    const [a, b] = numbers
    if (name === 'abs' && a) return whole(constant({ n: abs(a.n), d: a.d }))
    if (name === 'floor' && a) return whole(constant(q.whole(floor(a))))
    if (name === 'ceil' && a) return whole(constant(q.whole(-floor(q.negate(a)))))
    if (name === 'factorial' && a && q.isWhole(a) && a.n >= 0n && a.n <= limits.factorial)
      return whole(constant(q.whole(falling(a.n, a.n))))
    if (
      name === 'binom' &&
      a &&
      b &&
      q.isWhole(a) &&
      q.isWhole(b) &&
      b.n >= 0n &&
      a.n >= b.n &&
      b.n <= 500n &&
      a.n <= 100_000n
    )
      return whole(constant(q.ratio(falling(a.n, b.n), falling(b.n, b.n))))
    if (name === 'exp' && args[0])
      return this.fraction({ k: 'pow', base: { k: 'sym', name: 'e' }, exp: args[0] })
    return whole(this.#opaque(`${name === 'log' && args.length === 1 ? 'ln' : name}(${this.#keys(args)})`))
  }

  fractionOrNone(node: Node): Fraction | undefined {
    try {
      return this.fraction(node)
    } catch (error) {
      if (error instanceof Unreadable) return undefined
      throw error
    }
  }

  #show(f: Fraction): string {
    return `${keyOf(f.top)}//${keyOf(f.bottom)}`
  }
}

const whole = (top: Polynomial): Fraction => ({ top, bottom: unit })
const abs = (n: bigint): bigint => (n < 0n ? -n : n)
const lcm = (a: bigint, b: bigint): bigint => (a / q.gcd(a, b)) * b

function falling(n: bigint, count: bigint): bigint {
  let product = 1n
  for (let i = 0n; i < count; i++) product *= n - i
  return product
}

/** Primes up to 997 with their powers, and what is left as one factor. */
function factors(n: bigint): (readonly [bigint, bigint])[] {
  const found: (readonly [bigint, bigint])[] = []
  let rest = n
  for (let p = 2n; p < 1000n && p * p <= rest; p += p === 2n ? 1n : 2n) {
    let k = 0n
    for (; rest % p === 0n; rest /= p) k++
    if (k > 0n) found.push([p, k])
  }
  if (rest > 1n) found.push([rest, 1n])
  return found
}
