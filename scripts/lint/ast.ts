/** The few ESTree shapes that the house's rules look at. */

export interface Node {
  type: string
}

export interface Literal extends Node {
  value: unknown
}

export interface Identifier extends Node {
  name: string
}

export interface MemberExpression extends Node {
  object: Node
  property: Node
}

export interface CallExpression extends Node {
  callee: Node
  arguments: Node[]
}

/** An import, a re-export, `import()` or a type's `import('…')`. */
export interface WithSource extends Node {
  source: Node | null
}

export interface ImportSpecifier extends Node {
  imported?: Node
  local: Identifier
}

export interface ImportDeclaration extends WithSource {
  specifiers: ImportSpecifier[]
}

export interface Context {
  filename: string
  report(problem: { node: Node; message: string }): void
}

export interface Rule {
  create(context: Context): Record<string, (node: never) => void>
}

export function nameOf(node: Node | undefined): string | undefined {
  if (node?.type === 'Identifier') return (node as Identifier).name
  if (node?.type === 'Literal') return String((node as Literal).value)
  return undefined
}

export function textOf(node: Node | null | undefined): string | undefined {
  const value = node?.type === 'Literal' ? (node as Literal).value : undefined
  return typeof value === 'string' ? value : undefined
}
