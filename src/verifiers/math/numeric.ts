import { createRequire } from 'node:module'
import type { Decimal as DecimalType } from 'decimal.js'
import { type Node, walk } from './ast.ts'

type Context = typeof DecimalType
let context: Context | undefined

/** Loaded when first needed: most answers are decided exactly. */
function decimals(): Context {
  if (!context) {
    const { Decimal } = createRequire(import.meta.url)('decimal.js') as { Decimal: Context }
    context = Decimal.clone({ precision: 60, toExpNeg: -9e15, toExpPos: 9e15, maxE: 9e6, minE: -9e6 })
  }
  return context
}

/** Digits that must agree, of the 60 that are computed. */
const agree = 40
const points = 4

/**
 * Whether two expressions have the same value to 40 digits at four points of their variables; undefined where fewer than two points
 * have real values (functions without a meaning, roots of negatives, numbers beyond the budget).
 */
export function agreeNumerically(a: Node, b: Node): boolean | undefined {
  const names = new Set([...walk(a), ...walk(b)].flatMap((n) => (n.k === 'sym' ? [n.name] : [])))
  let compared = 0
  for (const wholes of [false, true]) {
    for (let point = 0; point < points; point++) {
      const at = sample([...names].sort(), point, wholes)
      const x = evaluate(a, at)
      const y = evaluate(b, at)
      if (!x.isFinite() || !y.isFinite()) {
        // One of two equal expressions may be readable where the other is not: no evidence.
        continue
      }
      if (!close(x, y)) return false
      compared++
    }
    if (compared >= 2) return true
  }
  return undefined
}

function close(x: DecimalType, y: DecimalType): boolean {
  const larger = x.abs().gt(y.abs()) ? x.abs() : y.abs()
  return x
    .minus(y)
    .abs()
    .lte(larger.times(`1e-${agree}`))
}

/** The value of an expression without variables, for rounding; undefined where it has none. */
export function constantValue(node: Node): DecimalType | undefined {
  const value = evaluate(node, new Map())
  return value.isFinite() ? value : undefined
}

export function decimalOf(text: string): DecimalType {
  return new (decimals())(text)
}

function sample(names: readonly string[], point: number, wholes: boolean): Map<string, DecimalType> {
  const D = decimals()
  return new Map(
    names.map((name, i) => {
      const n = (i * 7 + point * 11 + 3) % 31
      return [name, wholes ? new D(n + 2) : new D(n * 2 + 3).div(17).plus(new D(point + i + 2).sqrt().div(5))]
    }),
  )
}

function evaluate(node: Node, at: ReadonlyMap<string, DecimalType>): DecimalType {
  const D = decimals()
  const value = (n: Node): DecimalType => evaluate(n, at)
  switch (node.k) {
    case 'num':
      return new D(String(node.v.n)).div(String(node.v.d))
    case 'sym':
      if (node.name === 'pi') return D.acos(-1)
      if (node.name === 'e') return D.exp(1)
      if (node.name === 'i' || node.name === 'infty') return new D(Number.NaN)
      return at.get(node.name) ?? new D(Number.NaN)
    case 'percent':
      return value(node.arg).div(100)
    case 'ratio':
      return node.args.map(value).reduce((a, b) => a.div(b))
    case 'add':
      return sum(node.args.map(value))
    case 'mul':
      return node.args.map(value).reduce((a, b) => a.times(b))
    case 'pow':
      return raised(value(node.base), value(node.exp))
    case 'fn':
      return applied(node.name, node.args.map(value))
    default:
      return new D(Number.NaN)
  }
}

/** What cancels down to the last digits is 0. */
function sum(terms: DecimalType[]): DecimalType {
  const D = decimals()
  const total = terms.reduce((a, b) => a.plus(b))
  const largest = terms.reduce((a, b) => (b.abs().gt(a) ? b.abs() : a), new D(0))
  return total.abs().lt(largest.times('1e-52')) ? new D(0) : total
}

/** No number of more than 100,000 digits, nor a root of a negative. */
function raised(base: DecimalType, exp: DecimalType): DecimalType {
  const D = decimals()
  if (base.isZero()) return exp.gt(0) ? base : new D(Number.NaN)
  if (
    exp.abs().gt(1e6) ||
    exp
      .abs()
      .times(Math.abs(base.e) + 1)
      .gt(1e5)
  )
    return new D(Number.NaN)
  return base.pow(exp)
}

function applied(name: string, [a, b]: DecimalType[]): DecimalType {
  const D = decimals()
  const none = new D(Number.NaN)
  if (!a?.isFinite() || a.abs().gt(1e12)) return none
  const small = (x: DecimalType): DecimalType => (x.abs().lt('1e-50') ? new D(0) : x)
  switch (name) {
    case 'abs':
      return a.abs()
    case 'floor':
      return a.floor()
    case 'ceil':
      return a.ceil()
    case 'factorial':
      return a.isInteger() && a.gte(0) && a.lte(200) ? product(a.toNumber(), a.toNumber()) : none
    case 'binom':
      return b?.isInteger() && a.isInteger() && b.gte(0) && a.gte(b) && a.lte(400)
        ? product(a.toNumber(), b.toNumber()).div(product(b.toNumber(), b.toNumber()))
        : none
    case 'sin':
      return small(a.sin())
    case 'cos':
      return small(a.cos())
    case 'tan':
      return small(a.cos()).isZero() ? none : small(a.tan())
    case 'sec':
      return new D(1).div(small(a.cos()))
    case 'csc':
      return new D(1).div(small(a.sin()))
    case 'cot':
      return small(a.cos()).div(small(a.sin()))
    case 'arcsin':
      return a.asin()
    case 'arccos':
      return a.acos()
    case 'arctan':
      return a.atan()
    case 'sinh':
      return a.abs().gt(1e4) ? none : a.sinh()
    case 'cosh':
      return a.abs().gt(1e4) ? none : a.cosh()
    case 'tanh':
      return a.abs().gt(1e4) ? none : a.tanh()
    case 'ln':
      return a.ln()
    case 'lg':
      return a.log(10)
    case 'log':
      return b ? a.ln().div(b.ln()) : a.ln()
    default:
      return none
  }
}

function product(n: number, count: number): DecimalType {
  let result = new (decimals())(1)
  for (let i = 0; i < count; i++) result = result.times(n - i)
  return result
}
