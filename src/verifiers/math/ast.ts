import type { Rational } from './rational.ts'

/** What an answer says, before any rewriting. */
export type Node =
  /** `places`: digits behind the point where it was written as a decimal. */
  | { k: 'num'; v: Rational; places?: number; digits?: number }
  | { k: 'sym'; name: string }
  | { k: 'add' | 'mul'; args: Node[] }
  | { k: 'pow'; base: Node; exp: Node }
  /** Functions, known (`sin`, `abs`, ...) or not (`f`), and operators with a body such as `sum`. */
  | { k: 'fn'; name: string; args: Node[] }
  /** Plus or minus, both at once. */
  | { k: 'pm'; arg: Node }
  | { k: 'percent'; arg: Node }
  | { k: 'ratio'; args: Node[] }
  /** `args[0] ops[0] args[1] ops[1] ...`. */
  | { k: 'rel'; ops: Relation[]; args: Node[] }
  /** Comma-separated, without or with braces: order does not count. */
  | { k: 'list' | 'set'; items: Node[] }
  /** In brackets: a point, or an interval where there are two. */
  | { k: 'tuple'; open: '(' | '['; close: ')' | ']'; items: Node[] }
  | { k: 'union' | 'intersection' | 'minus'; args: Node[] }
  | { k: 'matrix'; rows: Node[][] }
  | { k: 'text'; text: string }

export type Relation = '=' | '<' | '>' | '<=' | '>=' | '!=' | '~' | 'in' | 'mod' | 'to'

/** All nodes, outermost first. */
export function* walk(node: Node): Generator<Node> {
  yield node
  for (const child of children(node)) yield* walk(child)
}

export function children(node: Node): Node[] {
  switch (node.k) {
    case 'pow':
      return [node.base, node.exp]
    case 'pm':
    case 'percent':
      return [node.arg]
    case 'list':
    case 'set':
    case 'tuple':
      return node.items
    case 'matrix':
      return node.rows.flat()
    case 'num':
    case 'sym':
    case 'text':
      return []
    default:
      return node.args
  }
}

/** The same node with every child replaced. */
export function mapChildren(node: Node, f: (child: Node) => Node): Node {
  switch (node.k) {
    case 'pow':
      return { ...node, base: f(node.base), exp: f(node.exp) }
    case 'pm':
    case 'percent':
      return { ...node, arg: f(node.arg) }
    case 'list':
    case 'set':
    case 'tuple':
      return { ...node, items: node.items.map(f) }
    case 'matrix':
      return { ...node, rows: node.rows.map((row) => row.map(f)) }
    case 'num':
    case 'sym':
    case 'text':
      return node
    default:
      return { ...node, args: node.args.map(f) }
  }
}
