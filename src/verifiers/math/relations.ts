import type { Node, Relation } from './ast.ts'
import { whole } from './rational.ts'

type Rel = Node & { k: 'rel' }

const turned: Partial<Record<Relation, Relation>> = { '<': '>', '>': '<', '<=': '>=', '>=': '<=' }

/** The same, read from right to left. */
export function flipped(rel: Rel): Rel {
  return { k: 'rel', ops: rel.ops.map((op) => turned[op] ?? op).reverse(), args: [...rel.args].reverse() }
}

const infinity: Node = { k: 'sym', name: 'infty' }
const minus = (arg: Node): Node => ({ k: 'mul', args: [{ k: 'num', v: whole(-1) }, arg] })
const isVariable = (n: Node): boolean => n.k === 'sym' || (n.k === 'fn' && n.name.length === 1)
const isAbs = (n: Node): boolean => n.k === 'fn' && n.name === 'abs' && isVariable(n.args[0]!)

/** The interval or the union that an inequality of one variable describes; undefined for any other relation. */
export function asSet(rel: Rel): Node | undefined {
  const upward = rel.ops.some((op) => op === '>' || op === '>=') ? flipped(rel) : rel
  if (!upward.ops.every((op) => op === '<' || op === '<=')) return undefined
  const strict = upward.ops.map((op) => op === '<')
  const [a, b, c] = upward.args
  if (upward.args.length === 3 && isVariable(b!)) return interval(a!, strict[0]!, c!, strict[1]!)
  if (upward.args.length === 3 && isAbs(b!)) {
    const right = interval(a!, strict[0]!, c!, strict[1]!)
    return { k: 'union', args: [interval(minus(c!), strict[1]!, minus(a!), strict[0]!), right] }
  }
  if (upward.args.length !== 2) return undefined
  if (isVariable(a!)) return interval(minus(infinity), true, b!, strict[0]!)
  if (isVariable(b!)) return interval(a!, strict[0]!, infinity, true)
  return isAbs(a!) ? interval(minus(b!), strict[0]!, b!, strict[0]!) : undefined
}

function interval(from: Node, openBelow: boolean, to: Node, openAbove: boolean): Node {
  return { k: 'tuple', open: openBelow ? '(' : '[', close: openAbove ? ')' : ']', items: [from, to] }
}
