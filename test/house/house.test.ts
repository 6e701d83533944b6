import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { commands } from '../../src/cli/commands/index.ts'
import { domainTopics, singleTopics } from '../../topics/registry.ts'

const root = join(import.meta.dirname, '../..')
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const { scripts, engines }: { scripts: Record<string, string>; engines: { node: string } } = JSON.parse(
  read('package.json'),
)

function filesOf(folder: string, extension: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => join(folder, name))
}

describe('files', () => {
  const code = ['topics', 'streams', 'src', 'test', 'bench', 'scripts', 'bin'].flatMap((room) =>
    ['.ts', '.js', '.py'].flatMap((extension) => filesOf(room, extension)),
  )

  test('none is longer than 400 lines', () => {
    const long = code.filter((file) => read(file).trimEnd().split('\n').length > 400)
    expect(code.length).toBeGreaterThan(100)
    expect(long).toEqual([])
  })

  test.each(['topics', 'streams'])('%s is pure', (room) => {
    const impure = /\b(Date\.now|new Date|Math\.random|setTimeout|setInterval|performance\.now|process\.)/
    const builtin = /from 'node:(?!crypto'|zlib')/
    const found = filesOf(room, '.ts').filter((file) => impure.test(read(file)) || builtin.test(read(file)))
    expect(found).toEqual([])
  })
})

describe('words', () => {
  const documents = ['README.md', ...['docs', 'topics', 'streams', 'bench'].flatMap((f) => filesOf(f, '.md'))]

  test('every topic is listed', () => {
    const text = read('topics/README.md')
    const names = [
      ...singleTopics.map((t) => t.name),
      ...Object.keys(domainTopics).map((n) => `${n}.<domain>`),
    ]
    expect(names.filter((name) => !text.includes(`| \`${name}\` |`))).toEqual([])
  })

  test.each(documents)('%s names commands and scripts that exist, and links to files that do', (file) => {
    const text = read(file)
    const code = Array.from(text.matchAll(/```[a-z]*\n([\s\S]*?)```|`([^`\n]+)`|^ {4}(.+)$/gm), (m) =>
      m.slice(1).join('\n'),
    ).join('\n')
    const called = Array.from(code.matchAll(/^\s*(?:\$ )?(?:npx )?cascade ([a-z-]+)/gm), (m) => m[1]!)
    expect(called.filter((name) => !commands.some((c) => c.name === name))).toEqual([])
    const run = Array.from(code.matchAll(/npm run ([a-z:]+)/g), (m) => m[1]!)
    expect(run.filter((name) => !(name in scripts))).toEqual([])
    const links = Array.from(text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g), (m) => m[1]!)
    expect(links.filter((link) => !existsSync(join(root, dirname(file), link)))).toEqual([])
  })

  test('the lowest Node is the one that the words name', () => {
    expect(read('docs/contributing.md')).toContain(`needs Node ${engines.node.replace('>=', '')}`)
  })
})

test('the program starts from a clone without a build', () => {
  const help = execFileSync(process.execPath, [join(root, 'bin/cascade.js'), '--help'], { encoding: 'utf8' })
  for (const { name, summary } of commands) expect(help).toMatch(new RegExp(`${name} +${summary}`))
})
