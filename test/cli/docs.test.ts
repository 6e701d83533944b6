import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { commands } from '../../src/cli/commands/index.ts'
import { invoke } from './invoke.ts'

const page = readFileSync(new URL('../../docs/cli.md', import.meta.url), 'utf8')

/** Text under the heading of a command, up to the next heading of any command. */
function section(name: string): string {
  const [, rest] = page.split(new RegExp(`^#+ cascade ${name}$`, 'm'))
  if (rest === undefined) throw new Error(`docs/cli.md: expected a heading "cascade ${name}", got none`)
  return rest.split(/^#+ cascade /m)[0]!
}

function flagsIn(text: string): string[] {
  return [...new Set(text.match(/--[a-z][a-z-]*/g))].filter((flag) => flag !== '--help').sort()
}

async function helpOf(words: readonly string[]): Promise<string> {
  return (await invoke([...words, '--help'])).out
}

/** Names of commands that really are: leaves of the tree that the help texts span. */
async function leaves(words: readonly string[]): Promise<string[][]> {
  const help = await helpOf(words)
  const [, listed] = help.split('\nCommands:\n')
  const names = [...(listed ?? '').split('\n\n')[0]!.matchAll(/^ {2}([a-z]+)/gm)]
    .map((m) => m[1]!)
    .filter((n) => n !== 'help')
  return names.length === 0
    ? [[...words]]
    : [
        // One with arguments of its own is a command beside those below it.
        ...(help.includes('\nArguments:\n') ? [[...words]] : []),
        ...(await Promise.all(names.map((n) => leaves([...words, n])))).flat(),
      ]
}

test('every command is in docs/cli.md with exactly its options, and an example', async () => {
  const all = (await Promise.all(commands.map(({ name }) => leaves([name])))).flat()
  expect(all.map((words) => words.join(' '))).toEqual([
    'run',
    'plan',
    'eval',
    'worker',
    'report',
    'replay',
    'import',
    'export',
    'topics ls',
    'topics cat',
    'topics tail',
    'control',
    'verify',
    'verify serve',
    'verifiers ls',
    'verifiers stage',
    'verifiers promote',
    'verifiers rollback',
    'verifiers withdraw',
    'verifiers diff',
    'reward-model train',
    'doctor',
  ])
  for (const words of all) {
    const name = words.join(' ')
    const text = section(name)
    const [, options = ''] = (await helpOf(words)).split('\nOptions:\n')
    const inHelp = [...options.split('\nExample')[0]!.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(
      (m) => m[1]!,
    )
    const inTable = text
      .split('\n')
      .filter((line) => line.startsWith('| `-'))
      .flatMap((line) => flagsIn(line.split(' | ')[0]!))
    expect([name, ...inTable.sort()]).toEqual([name, ...inHelp.filter((f) => f !== '--help').sort()])
    expect(text).toContain(`\`\`\`sh\ncascade ${name}`)
  }
})

test('links inside docs/cli.md lead to a heading', () => {
  const headings = [...page.matchAll(/^#+ (.+)$/gm)].map((m) => m[1]!.toLowerCase().replaceAll(' ', '-'))
  const targets = [...page.matchAll(/\]\(#([^)]+)\)/g)].map((m) => m[1]!)
  expect(targets.length).toBeGreaterThan(0)
  for (const target of targets) expect(headings).toContain(target)
})
