import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
/** Named one by one: `.` would follow the link to `node_modules`. */
const rooms = ['topics', 'streams', 'src', 'test']

/** File of a made-up house, and the one rule that it breaks; none for a file that is as it should be. */
const cases: { title: string; file: string; source: string; rule?: string }[] = [
  {
    title: 'topics imports from streams',
    file: 'topics/a.ts',
    source: "import type { B } from '../streams/fine.ts'\nexport type A = B\n",
    rule: 'cascade(import-direction)',
  },
  {
    title: 'topics imports from src by a type',
    file: 'topics/b.ts',
    source: "export type A = import('../src/fine.ts').C\n",
    rule: 'cascade(import-direction)',
  },
  {
    title: 'topics imports a library that is not its own',
    file: 'topics/c.ts',
    source: "export { of } from 'rxjs'\n",
    rule: 'cascade(import-direction)',
  },
  {
    title: 'streams imports from src',
    file: 'streams/a.ts',
    source: "export * from '../src/fine.ts'\n",
    rule: 'cascade(import-direction)',
  },
  {
    title: 'streams imports a builtin with files',
    file: 'streams/b.ts',
    source: "import { readFileSync } from 'node:fs'\nexport const read = readFileSync\n",
    rule: 'cascade(import-direction)',
  },
  {
    title: 'src imports from a test, lazily',
    file: 'src/a.ts',
    source: "export const load = () => import('../test/a.ts')\n",
    rule: 'cascade(import-direction)',
  },
  {
    title: 'src imports a development dependency',
    file: 'src/b.ts',
    source: "export { test } from 'vitest'\n",
    rule: 'cascade(import-direction)',
  },
  {
    title: 'mergeMap without a concurrency',
    file: 'streams/c.ts',
    source: "import { mergeMap, of } from 'rxjs'\nexport const a = mergeMap((n: number) => of(n))\n",
    rule: 'cascade(bounded-merge)',
  },
  {
    title: 'mergeMap under another name',
    file: 'src/c.ts',
    source: "import { mergeMap as m, of } from 'rxjs'\nexport const a = m((n: number) => of(n))\n",
    rule: 'cascade(bounded-merge)',
  },
  {
    title: 'mergeMap with a concurrency of Infinity',
    file: 'streams/d.ts',
    source: "import * as rx from 'rxjs'\nexport const a = rx.mergeMap((n: number) => rx.of(n), Infinity)\n",
    rule: 'cascade(bounded-merge)',
  },
  {
    title: 'mergeAll without a concurrency',
    file: 'streams/e.ts',
    source: "import { mergeAll, of } from 'rxjs'\nexport const a = of(of(1)).pipe(mergeAll())\n",
    rule: 'cascade(bounded-merge)',
  },
  {
    title: 'a file of 401 lines',
    file: 'src/long.ts',
    source: `${Array.from({ length: 401 }, (_, i) => `export const n${i} = ${i}`).join('\n')}\n`,
    rule: 'eslint(max-lines)',
  },
  {
    title: 'a promise that nobody awaits',
    file: 'src/d.ts',
    source: 'async function f(): Promise<void> {}\nexport function g(): void {\n  f()\n}\n',
    rule: 'typescript(no-floating-promises)',
  },
  {
    title: 'a type imported as a value',
    file: 'src/e.ts',
    source: "import { Observable } from 'rxjs'\nexport type A = Observable<number>\n",
    rule: 'typescript(consistent-type-imports)',
  },
  {
    title: 'a circle of imports',
    file: 'src/circle-a.ts',
    source: "import { b } from './circle-b.ts'\nexport const a = (): number => b()\n",
    rule: 'import(no-cycle)',
  },
  {
    title: 'the other half of the circle',
    file: 'src/circle-b.ts',
    source: "import { a } from './circle-a.ts'\nexport const b = (): number => a()\n",
    rule: 'import(no-cycle)',
  },
  {
    title: 'any',
    file: 'src/f.ts',
    source: 'export function f(a: any): string {\n  return String(a)\n}\n',
    rule: 'typescript(no-explicit-any)',
  },
  {
    title: 'a silenced type error',
    file: 'src/g.ts',
    source: "// @ts-ignore\nexport const n: number = 'one'\n",
    rule: 'typescript(ban-ts-comment)',
  },
  {
    title: 'streams reads the clock',
    file: 'streams/f.ts',
    source: 'export const now = (): number => Date.now()\n',
    rule: 'eslint(no-restricted-globals)',
  },
  {
    title: 'topics starts a timer',
    file: 'topics/d.ts',
    source: 'export const later = (f: () => void): unknown => setTimeout(f, 10)\n',
    rule: 'eslint(no-restricted-globals)',
  },
  {
    title: 'streams reads the environment',
    file: 'streams/h.ts',
    source: 'export const home = (): unknown => process.env.HOME\n',
    rule: 'eslint(no-restricted-globals)',
  },
  {
    title: 'streams draws a number',
    file: 'streams/g.ts',
    source: 'export const draw = (): number => Math.random()\n',
    rule: 'eslint(no-restricted-properties)',
  },
  {
    title: 'a file of 400 lines passes',
    file: 'src/not-so-long.ts',
    source: `${Array.from({ length: 400 }, (_, i) => `export const n${i} = ${i}`).join('\n')}\n`,
  },
  { title: 'a test may import all', file: 'test/a.ts', source: "export * from '../src/fine.ts'\n" },
  {
    title: 'streams as it should be',
    file: 'streams/fine.ts',
    source:
      "import { mergeMap, of } from 'rxjs'\nimport type { A } from '../topics/fine.ts'\nexport type B = A\n" +
      'export const two = mergeMap((n: number) => of(n), 2)\n',
  },
  {
    title: 'topics as it should be',
    file: 'topics/fine.ts',
    source: "import { z } from 'zod'\nexport const a = z.string()\nexport type A = z.infer<typeof a>\n",
  },
  {
    title: 'src as it should be',
    file: 'src/fine.ts',
    source: "import type { B } from '../streams/fine.ts'\nexport type C = B\n",
  },
]

interface Report {
  diagnostics: { code: string; filename: string }[]
}

describe('the linter', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cascade-lint-'))
  const found = new Map<string, string[]>()

  beforeAll(() => {
    const config: { jsPlugins: string[] } = JSON.parse(readFileSync(join(root, '.oxlintrc.json'), 'utf8'))
    config.jsPlugins = config.jsPlugins.map((plugin) => join(root, plugin))
    writeFileSync(join(folder, '.oxlintrc.json'), JSON.stringify(config))
    for (const file of ['package.json', 'tsconfig.json']) {
      writeFileSync(join(folder, file), readFileSync(join(root, file)))
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
    for (const { file, source } of cases) {
      mkdirSync(join(folder, dirname(file)), { recursive: true })
      writeFileSync(join(folder, file), source)
    }
    const oxlint = join(root, 'node_modules/.bin/oxlint')
    const { stdout } = spawnSync(process.execPath, [oxlint, '--type-aware', '--format', 'json', ...rooms], {
      cwd: folder,
      encoding: 'utf8',
    })
    const report: Report = JSON.parse(stdout)
    for (const { code, filename } of report.diagnostics) {
      found.set(filename, [...(found.get(filename) ?? []), code])
    }
  })

  afterAll(() => rmSync(folder, { recursive: true }))

  test.each(cases)('$title: $rule', ({ file, rule }) => {
    expect(found.get(file) ?? []).toEqual(rule ? [rule] : [])
  })
})

test('the format check catches a semicolon', () => {
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
  const format = (input: string): string =>
    execFileSync(process.execPath, [biome, 'format', '--stdin-file-path=src/a.ts'], {
      cwd: root,
      input,
      encoding: 'utf8',
    })
  expect(format('const a = "b";\n')).toBe("const a = 'b'\n")
})
