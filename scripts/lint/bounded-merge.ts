import {
  type CallExpression,
  type Context,
  type ImportDeclaration,
  type MemberExpression,
  type Node,
  nameOf,
  type Rule,
  textOf,
} from './ast.ts'

/** Where each merging operator of RxJS takes its concurrency. Left out, it is Infinity: an unbounded buffer. */
const concurrencyArgument: Readonly<Record<string, number>> = {
  mergeAll: 0,
  mergeMap: 1,
  flatMap: 1,
  mergeMapTo: 1,
  expand: 1,
  mergeScan: 2,
}

const unbounded = new Set(['Infinity', 'POSITIVE_INFINITY', 'undefined'])

function isUnbounded(argument: Node): boolean {
  const name =
    argument.type === 'MemberExpression' ? nameOf((argument as MemberExpression).property) : nameOf(argument)
  return name !== undefined && unbounded.has(name)
}

/** Invariant 1: no operator of RxJS may subscribe to any number of inner streams at once. */
export const boundedMerge: Rule = {
  create(context: Context) {
    const operators = new Map<string, string>()
    const namespaces = new Set<string>()

    function operatorOf(callee: Node): string | undefined {
      if (callee.type === 'Identifier') return operators.get(nameOf(callee) ?? '')
      if (callee.type !== 'MemberExpression') return undefined
      const { object, property } = callee as MemberExpression
      return namespaces.has(nameOf(object) ?? '') ? nameOf(property) : undefined
    }

    return {
      ImportDeclaration(node: ImportDeclaration) {
        if (!/^rxjs(\/|$)/.test(textOf(node.source) ?? '')) return
        for (const specifier of node.specifiers) {
          if (specifier.type === 'ImportNamespaceSpecifier') namespaces.add(specifier.local.name)
          const imported = nameOf(specifier.imported)
          if (imported && imported in concurrencyArgument) operators.set(specifier.local.name, imported)
        }
      },
      CallExpression(node: CallExpression) {
        const operator = operatorOf(node.callee)
        const at = operator === undefined ? undefined : concurrencyArgument[operator]
        if (at === undefined) return
        const last = node.arguments.at(-1)
        if (node.arguments.length > at && last && !isUnbounded(last)) return
        context.report({
          node,
          message: `${operator} without a concurrency queues without bound: expected a finite number as argument ${at + 1}`,
        })
      },
    }
  },
}
