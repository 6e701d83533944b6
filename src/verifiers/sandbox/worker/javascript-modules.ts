import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { javascriptModules } from '../sandbox.ts'

/** A file of a package, and the file that each name in its `require` calls stands for. */
export interface ModuleSource {
  readonly text: string
  readonly names: Record<string, string>
}

const packages: Record<(typeof javascriptModules)[number], string> = {
  lodash: 'lodash/lodash.min.js',
  assert: 'assert/',
  util: 'util/',
}

/** Newer Nodes resolve some packages to their ES module, which stands beside what their `main` names. */
function commonJs(file: string): string {
  if (!file.endsWith('.mjs')) return file
  const folder = dirname(file)
  const { main } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { main?: string }
  return createRequire(file).resolve(join(folder, main ?? 'index.js'))
}

/** The sources of the bundled modules and all that they need, by file, and the first file of each module. */
export function moduleSources(): { files: Record<string, ModuleSource>; entries: Record<string, string> } {
  const files: Record<string, ModuleSource> = {}
  const take = (file: string): string => {
    if (files[file]) return file
    const text = readFileSync(file, 'utf8')
    const names: Record<string, string> = {}
    files[file] = { text, names }
    const from = createRequire(file)
    for (const match of text.matchAll(/\brequire\(\s*(['"])([^'"]+)\1\s*\)/g)) {
      const name = match[2]!
      // `util` and `assert` would be Node's own: a slash asks for the package of that name.
      const found = commonJs(from.resolve(name === 'util' || name === 'assert' ? `${name}/` : name))
      if (found.includes('/') || found.includes('\\')) names[name] = take(found)
    }
    return file
  }
  const from = createRequire(import.meta.url)
  const entries = Object.fromEntries(
    javascriptModules.map((name) => [name, take(from.resolve(packages[name]))]),
  )
  return { files, entries }
}
