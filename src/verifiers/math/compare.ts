import { children, mapChildren, type Node, type Relation, walk } from './ast.ts'
import { Unreadable } from './limits.ts'
import { Normaliser } from './normal.ts'
import { agreeNumerically, constantValue, decimalOf } from './numeric.ts'
import * as q from './rational.ts'
import { asSet, flipped } from './relations.ts'

export interface CompareOptions {
  /** Decimals that a rounded number must have to stand for the exact one; default 6. */
  precision?: number
  /** Whether variables must have the same names; default true. */
  strict?: boolean
  /** Whether a set in the gold may be answered by an inequality; default false. */
  setForRelation?: boolean
}

/** How a comparison came out: equal or not, and by which means. */
export interface Comparison {
  equal: boolean
  how: 'exact' | 'normal form' | 'rounded' | 'numeric' | 'undecided' | 'kind' | 'text'
}

const no: Comparison = { equal: false, how: 'kind' }
const yes: Comparison = { equal: true, how: 'exact' }

export function compare(gold: Node, answer: Node, options: CompareOptions = {}): Comparison {
  if (options.strict === false) return compare(renamed(gold), renamed(answer), { ...options, strict: true })
  return new Comparer(options).equal(prepare(gold), prepare(answer))
}

/** Variables by the order in which they first appear. */
function renamed(node: Node): Node {
  const names = new Map<string, string>()
  for (const n of walk(node)) if (n.k === 'sym' && !names.has(n.name)) names.set(n.name, `v${names.size + 1}`)
  const rename = (n: Node): Node =>
    n.k === 'sym' ? { ...n, name: names.get(n.name)! } : mapChildren(n, rename)
  return rename(node)
}

/** Both cases of a plus-minus, products of matrices, and the last value of a chain of equations. */
function prepare(node: Node): Node {
  if (node.k === 'list' || node.k === 'set') {
    const items = node.items.map(prepare).flatMap((n) => (n.k === 'list' ? n.items : [n]))
    return items.length === 1 && node.k === 'list' ? items[0]! : { ...node, items }
  }
  if (node.k === 'rel') return chain(node.ops, node.args)
  const both = plusMinus(node)
  if (both) return { k: 'list', items: both }
  if (node.k === 'mul') return matrixProduct(node.args) ?? node
  return node.k === 'tuple' || node.k === 'union' ? mapChildren(node, prepare) : node
}

function chain(ops: readonly Relation[], args: readonly Node[]): Node {
  const about = ops.indexOf('~')
  if (about > 0) return chain(ops.slice(0, about), args.slice(0, about + 1))
  if (ops.length === 1 && ops[0] === 'in') return prepare(args[1]!)
  if (ops.length > 1 && ops.every((op) => op === '=')) {
    const name = args.slice(0, -1).find(isName)
    return { k: 'rel', ops: ['='], args: [name ?? args[0]!, prepare(args.at(-1)!)] }
  }
  return { k: 'rel', ops: [...ops], args: args.map(prepare) }
}

function plusMinus(node: Node): Node[] | undefined {
  const signs = [...walk(node)].filter((n) => n.k === 'pm').length
  if (signs === 0 || node.k === 'tuple') return undefined
  const chosen = (sign: number) => {
    const choose = (n: Node): Node =>
      n.k === 'pm'
        ? { k: 'mul', args: [{ k: 'num', v: q.whole(sign) }, choose(n.arg)] }
        : mapChildren(n, choose)
    return choose(node)
  }
  return [chosen(1), chosen(-1)]
}

function matrixProduct(args: readonly Node[]): Node | undefined {
  if (args.length < 2 || !args.every((a) => a.k === 'matrix')) return undefined
  return args.reduce((a, b) => {
    if (a.k !== 'matrix' || b.k !== 'matrix') return a
    const columns = b.rows[0]!.map((_, j) => b.rows.map((row) => row[j]!))
    const cell = (row: Node[], column: Node[]): Node => ({
      k: 'add',
      args: row.map((x, i): Node => ({ k: 'mul', args: [x, column[i] ?? x] })),
    })
    return { k: 'matrix', rows: a.rows.map((row) => columns.map((column) => cell(row, column))) }
  })
}

/** What can stand before an equals sign to name the value behind it: no number, no sum. */
export function isName(node: Node): boolean {
  if (node.k === 'sym') return node.name !== 'pi' && node.name !== 'e'
  if (node.k === 'text') return true
  if (node.k === 'fn')
    return (
      node.name.length <= 1 || node.name.includes('_') || (node.name === 'abs' && node.args.every(isName))
    )
  if (node.k === 'pow') return isName(node.base) && node.exp.k === 'num' && node.exp.v.n === -1n
  return (node.k === 'mul' || node.k === 'ratio' || node.k === 'tuple') && children(node).every(isName)
}

class Comparer {
  readonly #options: CompareOptions
  readonly #precision: number

  constructor(options: CompareOptions) {
    this.#options = options
    this.#precision = options.precision ?? 6
  }

  equal(a: Node, b: Node): Comparison {
    if (a.k === 'rel' || b.k === 'rel') return this.#relations(a, b)
    if (isMany(a) || isMany(b)) return this.#many(a, b)
    if (a.k === 'ratio' && b.k === 'ratio') return this.#ratios(a.args, b.args)
    if (a.k === 'matrix' || b.k === 'matrix') {
      if (a.k !== 'matrix' || b.k !== 'matrix' || a.rows.length !== b.rows.length) return no
      if (a.rows.some((row, i) => row.length !== b.rows[i]!.length)) return no
      return this.#inOrder(a.rows.flat(), b.rows.flat())
    }
    if (a.k === 'text' || b.k === 'text')
      return { equal: a.k === 'text' && b.k === 'text' && a.text === b.text, how: 'text' }
    return this.#values(a, b)
  }

  #ratios(a: Node[], b: Node[]): Comparison {
    const parts = this.#inOrder(a, b)
    const isZero = (n: Node): boolean => n.k === 'num' && q.isZero(n.v)
    if (parts.equal || a.length !== 2 || b.length !== 2 || isZero(a[1]!) || isZero(b[1]!)) return parts
    return this.#values({ k: 'ratio', args: a }, { k: 'ratio', args: b })
  }

  /** Lists, sets, points, intervals and unions. */
  #many(a: Node, b: Node): Comparison {
    if (a.k === 'tuple' && b.k === 'tuple') {
      if (a.open !== b.open || a.close !== b.close) return no
      return this.#inOrder(a.items, b.items)
    }
    if (a.k === 'tuple' && b.k === 'set') return this.#inOrder(a.items, b.items)
    if (a.k === 'set' && b.k === 'tuple') return this.#inOrder(a.items, b.items)
    if (a.k === 'tuple' && b.k === 'list' && b.items.every((n) => n.k !== 'tuple'))
      return this.#inOrder(a.items, b.items)
    if (a.k === 'list' && b.k === 'tuple' && a.items.every((n) => n.k !== 'tuple'))
      return this.#inOrder(a.items, b.items)
    if (a.k === 'union' || b.k === 'union') return this.#anyOrder(parts(a, 'union'), parts(b, 'union'))
    if (a.k === 'intersection' || a.k === 'minus')
      return a.k === b.k ? this.#inOrder(a.args, children(b)) : no
    if (b.k === 'intersection' || b.k === 'minus' || (a.k === 'tuple') !== (b.k === 'tuple')) {
      const [x, y] = [items(a), items(b)]
      return x.length === 1 && y.length === 1 && x[0]!.k === y[0]!.k ? this.equal(x[0]!, y[0]!) : no
    }
    return this.#anyOrder(items(a), items(b))
  }

  #inOrder(a: readonly Node[], b: readonly Node[]): Comparison {
    if (a.length !== b.length) return no
    return weakest(a.map((x, i) => () => this.equal(x, b[i]!)))
  }

  /** As sets: each has its equal on the other side. */
  #anyOrder(a: readonly Node[], b: readonly Node[]): Comparison {
    const found = (x: Node, others: readonly Node[], swap: boolean, first: number): Comparison => {
      const order = first < others.length ? [others[first]!, ...others] : others
      for (const y of order) {
        const result = swap ? this.equal(y, x) : this.equal(x, y)
        if (result.equal) return result
      }
      return no
    }
    return weakest([
      ...a.map((x, i) => () => found(x, b, false, i)),
      ...b.map((y, i) => () => found(y, a, true, i)),
    ])
  }

  #relations(a: Node, b: Node): Comparison {
    if (a.k === 'rel' && b.k === 'rel') return this.#twoRelations(a, b)
    const [rel, other] = a.k === 'rel' ? [a, b] : [b as Node & { k: 'rel' }, a]
    if (rel.ops.length === 1 && rel.ops[0] === '=') {
      const value = isName(rel.args[0]!) ? rel.args[1]! : isName(rel.args[1]!) ? rel.args[0]! : undefined
      if (!value) return no
      return a === rel ? this.equal(value, other) : this.equal(other, value)
    }
    if (b === rel && !this.#options.setForRelation && isMany(a) && a.k !== 'list') return no
    const set = asSet(rel)
    return set ? this.#many(set, other) : no
  }

  #twoRelations(a: Node & { k: 'rel' }, b: Node & { k: 'rel' }): Comparison {
    if (a.ops.length !== b.ops.length) return no
    if (a.ops.length > 1) {
      const reverse = flipped(b)
      if (sameOps(a.ops, b.ops)) return this.#inOrder(a.args, b.args)
      return sameOps(a.ops, reverse.ops) ? this.#inOrder(a.args, reverse.args) : no
    }
    const other = a.ops[0] === b.ops[0] ? b : flipped(b)
    if (a.ops[0] !== other.ops[0]) return no
    const sides = this.#inOrder(a.args, other.args)
    if (sides.equal) return sides
    const [left, right] = [a.args[0]!, other.args[0]!]
    if (a.ops[0] === '=' && isName(left) && isName(right) && sameHead(left, right))
      return this.equal(a.args[1]!, other.args[1]!)
    return this.#multiples(a, b)
  }

  /** `2x = 4` says what `x = 2` says: the difference of the sides is a multiple, a positive one where order counts. */
  #multiples(a: Node & { k: 'rel' }, b: Node & { k: 'rel' }): Comparison {
    const n = new Normaliser()
    try {
      const difference = (r: Node & { k: 'rel' }) =>
        n.fraction({
          k: 'add',
          args: [r.args[0]!, { k: 'mul', args: [{ k: 'num', v: q.whole(-1) }, r.args[1]!] }],
        })
      const c = n.multiple(difference(a), difference(b))
      if (!c) return { equal: false, how: 'normal form' }
      const op = a.ops[0]!
      const positive = c.n > 0n
      const fits =
        op === '=' || op === '!='
          ? a.ops[0] === b.ops[0]
          : positive
            ? b.ops[0] === op
            : flipped(b).ops[0] === op
      return { equal: fits, how: 'normal form' }
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error
      return { equal: false, how: 'undecided' }
    }
  }

  #values(a: Node, b: Node): Comparison {
    if (a.k === 'sym' && b.k === 'sym') return { equal: a.name === b.name, how: 'exact' }
    const percents = this.#percent(a, b)
    if (percents) return percents
    const n = new Normaliser()
    const [x, y] = [n.fractionOrNone(a), n.fractionOrNone(b)]
    if (x && y) {
      try {
        const rest = n.difference(x, y)
        if (rest.size === 0) return { equal: true, how: 'normal form' }
        if (n.decides(rest)) return this.#rounded(a, b) ?? { equal: false, how: 'normal form' }
      } catch (error) {
        if (!(error instanceof Unreadable)) throw error
      }
    }
    const rounded = this.#rounded(a, b)
    if (rounded) return rounded
    const agreed = agreeNumerically(a, b)
    return agreed === undefined ? { equal: false, how: 'undecided' } : { equal: agreed, how: 'numeric' }
  }

  /** `10%` is 0.1, and as the gold or for a gold above 1 also 10: the sign may be part of the question. */
  #percent(a: Node, b: Node): Comparison | undefined {
    if ((a.k === 'percent') === (b.k === 'percent')) return undefined
    const [sign, bare] = a.k === 'percent' ? [a, b] : [b as Node & { k: 'percent' }, a]
    const direct = this.#values(sign.arg, bare)
    const large = bare.k !== 'num' || bare.v.n >= bare.v.d
    return direct.equal && (a.k === 'percent' || large) ? direct : undefined
  }

  /** A decimal stands for a number that has no shorter decimal, where it is its rounding or its truncation. */
  #rounded(a: Node, b: Node): Comparison | undefined {
    const [x, y] = [literal(a), literal(b)]
    if (x && y) return printedDouble(x, y) ? { equal: true, how: 'rounded' } : undefined
    const [number, exact] = x ? [x, b] : y ? [y, a] : []
    if (!number || !exact) return undefined
    if (number.places < this.#precision || number.digits < Math.min(this.#precision, 4)) return undefined
    const value = constantValue(exact)
    if (!value) return undefined
    const shown = decimalOf(String(number.v.n)).div(String(number.v.d))
    const off = value.minus(shown).abs()
    return off.lt(decimalOf(`1e-${number.places}`)) ? { equal: true, how: 'rounded' } : undefined
  }
}

interface Literal {
  v: q.Rational
  places: number
  digits: number
}

/** A decimal as it stands, with its sign; undefined for all else. */
function literal(node: Node): Literal | undefined {
  if (node.k === 'num' && node.places !== undefined)
    return { v: node.v, places: node.places, digits: node.digits ?? 0 }
  if (node.k !== 'mul' || node.args.length !== 2) return undefined
  const [sign, rest] = node.args
  const inner = sign!.k === 'num' && sign!.v.n === -1n && sign!.v.d === 1n ? literal(rest!) : undefined
  return inner && { ...inner, v: q.negate(inner.v) }
}

/** 0.30000000000000004 is how a double prints 0.3: 16 digits or more are compared to 15. */
function printedDouble(a: Literal, b: Literal): boolean {
  if (Math.max(a.digits, b.digits) < 16 || Math.max(a.digits, b.digits) > 18) return false
  const [x, y] = [q.toDouble(a.v), q.toDouble(b.v)]
  return Math.abs(x - y) <= 4 * Number.EPSILON * Math.max(Math.abs(x), Math.abs(y))
}

const isMany = (n: Node): boolean => ['list', 'set', 'tuple', 'union', 'intersection', 'minus'].includes(n.k)
const items = (n: Node): Node[] => (n.k === 'list' || n.k === 'set' ? n.items : [n])
const parts = (n: Node, k: 'union'): Node[] => (n.k === k ? n.args : n.k === 'list' ? n.items : [n])
const sameOps = (a: readonly string[], b: readonly string[]): boolean => a.join() === b.join()

/** `W(n) = 1` and `W(x) = 1`: the same function, its argument called otherwise. */
function sameHead(a: Node, b: Node): boolean {
  const [x, y] = [
    [...walk(a)].filter((n) => n.k === 'sym' || n.k === 'fn'),
    [...walk(b)].filter((n) => n.k === 'sym' || n.k === 'fn'),
  ]
  return (
    x.length === 2 && y.length === 2 && (x[0] as { name: string }).name === (y[0] as { name: string }).name
  )
}

/** Equal where all are, by the weakest of the means; stops at the first that is not. */
function weakest(all: readonly (() => Comparison)[]): Comparison {
  const order: Comparison['how'][] = ['exact', 'text', 'normal form', 'rounded', 'numeric']
  let result = yes
  for (const one of all) {
    const next = one()
    if (!next.equal) return next
    if (order.indexOf(next.how) > order.indexOf(result.how)) result = next
  }
  return result
}
