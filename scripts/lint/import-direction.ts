import { existsSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { type Context, type Node, type Rule, textOf, type WithSource } from './ast.ts'

interface Room {
  /** Rooms that it may import from, itself included. */
  rooms: readonly string[]
  /** Packages and builtins that it may import; absent: any builtin and every production dependency. */
  packages?: readonly string[]
}

/** Imports point one way: topics <- streams <- src. Everything else (tests, benches, scripts) may import all. */
const house: Readonly<Record<string, Room>> = {
  topics: { rooms: ['topics'], packages: ['zod', 'msgpackr', 'node:zlib', 'node:crypto'] },
  streams: { rooms: ['topics', 'streams'], packages: ['rxjs', 'node:crypto'] },
  src: { rooms: ['topics', 'streams', 'src'] },
}

const roots = new Map<string, string>()
const dependencies = new Map<string, readonly string[]>()

/** The nearest folder above with a `package.json`. */
function rootOf(folder: string): string {
  const known = roots.get(folder)
  if (known !== undefined) return known
  const parent = dirname(folder)
  const root = existsSync(join(folder, 'package.json')) || parent === folder ? folder : rootOf(parent)
  roots.set(folder, root)
  return root
}

function productionDependencies(root: string): readonly string[] {
  let names = dependencies.get(root)
  if (names === undefined) {
    const manifest: { dependencies?: Record<string, string> } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8'),
    )
    names = Object.keys(manifest.dependencies ?? {})
    dependencies.set(root, names)
  }
  return names
}

function packageOf(specifier: string): string {
  return specifier.startsWith('@') ? specifier.split('/', 2).join('/') : specifier.split('/', 1)[0]!
}

/** What is wrong with an import, or undefined. Type imports count: they show the direction as well as any other. */
export function violation(file: string, specifier: string): string | undefined {
  const root = rootOf(dirname(file))
  const name = relative(root, file).split(sep, 1)[0]!
  const room = house[name]
  if (!room) return undefined
  if (specifier.startsWith('.')) {
    const target = relative(root, resolve(dirname(file), specifier)).split(sep, 1)[0]!
    if (room.rooms.includes(target)) return undefined
    return `${name}/ may import from ${room.rooms.join(', ')} only, got ${target}/`
  }
  if (room.packages) {
    if (room.packages.includes(specifier)) return undefined
    return `${name}/ may import ${room.packages.join(', ')} only, got ${specifier}`
  }
  if (isBuiltin(specifier)) {
    return specifier.startsWith('node:') ? undefined : `expected node:${specifier}, got ${specifier}`
  }
  if (productionDependencies(root).includes(packageOf(specifier))) return undefined
  return `${name}/ may import production dependencies only, got ${specifier}`
}

export const importDirection: Rule = {
  create(context: Context) {
    const check = (node: WithSource): void => {
      const specifier = textOf(node.source)
      const message = specifier === undefined ? undefined : violation(context.filename, specifier)
      if (message) context.report({ node: node as Node, message })
    }
    return {
      ImportDeclaration: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      ImportExpression: check,
      TSImportType: check,
    }
  },
}
