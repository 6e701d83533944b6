import { appendFile, copyFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../../src/cli/config.ts'
import { sourceOf } from '../../../src/cli/run/prompt-source.ts'
import { openLog } from '../../../src/log/index.ts'
import { follow } from '../../../streams/follow.ts'
import { evaluations, prompts, rewards, type Topic } from '../../../topics/index.ts'
import { cascade, workspace, writeConfig } from './harness.ts'
import { quickRun } from './quick-run.ts'

/** Runs on rows of a file, by the real program. */

let space: Awaited<ReturnType<typeof workspace>>
let dir: string
let config: string
let rows: string

beforeAll(async () => {
  space = await workspace()
  const folder = join(space.dir, 'own')
  await mkdir(folder)
  rows = join(folder, 'rows.jsonl')
  const all = Array.from({ length: 60 }, (_, i) => ({ q: `${i}+1?`, a: `It is ${i + 1}.\n#### ${i + 1}` }))
  const text = [...all, { q: 'é?', a: '0' }].map((row) => JSON.stringify(row)).join('\n')
  await writeFile(rows, text)
  const { model, stages, ...rest } = quickRun({})
  config = await writeConfig(folder, {
    ...rest,
    model: { ...model!, maxLength: 96 },
    tasks: {
      sums: {
        kind: 'jsonl',
        path: './rows.jsonl',
        prompt: 'q',
        truth: 'a',
        response: 'a',
        verifier: 'math',
        badRows: 'skip',
      },
    },
    stages: stages.map((stage) =>
      stage.kind === 'sft'
        ? { ...stage, tasks: ['sums'] }
        : { ...stage, domain: 'sums', task: 'sums', minSpread: 0 },
    ),
    evaluation: { prompts: 3 },
  })
  dir = join(folder, 'run')
}, 60_000)

afterAll(() => space[Symbol.asyncDispose]())

async function read<T>(topic: Topic<T>): Promise<T[]> {
  await using log = await openLog({ dir: join(dir, 'log'), mode: 'read', clock: { now: () => 0 } })
  const found: T[] = []
  const { signal } = new AbortController()
  await follow(log, topic, { from: 0, until: 'end', signal }, ({ value }) => void found.push(value))
  return found
}

test('rows are learnt, sampled, judged and held out; skipped ones are said; other rows are refused later', async () => {
  const { code, stdout, stderr } = await cascade(['run', config, '--dir', dir])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(
    /tasks\.sums: 1 rows were skipped, the first: .*rows\.jsonl:61: text: expected newline/,
  )
  const asked = await read(prompts('sums'))
  expect(asked.length).toBeGreaterThan(0)
  for (const { promptText, groundTruth, verifier } of asked) {
    const n = Number(/^(\d+)\+1\?$/.exec(promptText)?.[1])
    expect({ groundTruth, verifier }).toEqual({
      groundTruth: `It is ${n + 1}.\n#### ${n + 1}`,
      verifier: 'math',
    })
  }
  const judged = await read(rewards('sums'))
  expect(judged.length).toBeGreaterThan(0)
  expect(judged.every((r) => r.rewards[0]?.verifier === 'math' || r.kind === 'member-lost')).toBe(true)
  const held = await read(evaluations)
  expect(held.every((e) => e.domain === 'sums' && e.n === 3)).toBe(true)

  await appendFile(rows, '\n{"q":"1+1?","a":"2"}')
  const later = await cascade(['eval', dir, '--checkpoint', 'latest'])
  expect(later.code).toBe(2)
  expect(later.stderr).toMatch(
    /CONFIG_INVALID: tasks\.sums: .*rows\.jsonl: expected the rows that the run began with/,
  )
}, 120_000)

test('the example of own data loads, and its file is as it says', async () => {
  const root = join(import.meta.dirname, '../../..')
  const folder = join(space.dir, 'example')
  await mkdir(folder)
  const text = await readFile(join(root, 'examples/own-data.config.ts'), 'utf8')
  const source = pathToFileURL(join(root, 'src/cli/config.ts')).href
  const file = join(folder, 'own-data.config.mts')
  await writeFile(file, text.replace('cascade-rl', source))
  await copyFile(join(root, 'examples/word-problems.jsonl'), join(folder, 'word-problems.jsonl'))
  const example = await sourceOf(await loadConfig(file), 0)
  expect(example.domains).toEqual(['word'])
  expect(example.heldOut('word', 4)).toHaveLength(4)
})

test.each([
  ['a name of a built-in task', { math: { path: './rows.jsonl' } }, /tasks\.math: expected another name/],
  [
    'a verifier that is not there',
    { own: { path: './rows.jsonl', verifier: 'x' } },
    /tasks\.own\.verifier: expected one of .*math.*, got x/,
  ],
  ['a file that is not there', { own: { path: './none.jsonl' } }, /tasks\.own\.path: ENOENT.*none\.jsonl/],
])('%s is named', async (_, tasks, message) => {
  const folder = join(space.dir, 'own')
  const full = Object.fromEntries(
    Object.entries(tasks).map(([name, task]) => [name, { kind: 'jsonl', verifier: 'math', ...task }]),
  )
  const path = join(folder, 'bad.config.mjs')
  await writeFile(path, `export default ${JSON.stringify({ ...quickRun({}), tasks: full })}\n`)
  const { code, stderr } = await cascade(['run', path, '--dir', join(folder, 'bad')])
  expect(code).toBe(2)
  expect(stderr).toMatch(message)
})
