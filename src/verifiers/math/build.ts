import type { Node } from './ast.ts'
import { decimal, whole } from './rational.ts'

const minusOne: Node = { k: 'num', v: whole(-1) }
export const negated = (arg: Node): Node => ({ k: 'mul', args: [minusOne, arg] })
export const inverse = (base: Node): Node => ({ k: 'pow', base, exp: minusOne })

/** One whole number over another. */
export function isFraction(node: Node): boolean {
  if (node.k !== 'mul' || node.args.length !== 2) return false
  const [top, bottom] = node.args
  return top!.k === 'num' && bottom!.k === 'pow' && bottom!.base.k === 'num' && bottom!.exp === minusOne
}

export function number(text: string): Node {
  const point = text.indexOf('.')
  const v = decimal(text)
  if (point < 0) return { k: 'num', v }
  const digits = text.replace('.', '').replace(/^0+/, '').length
  return { k: 'num', v, places: text.length - point - 1, digits }
}
