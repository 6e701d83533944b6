import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { tokenizer } from '../../src/model/tokenizer/index.ts'
import { type FileTaskSpec, openFileTask } from '../../src/tasks/file-task.ts'

const dir = mkdtempSync(join(tmpdir(), 'cascade-file-task-'))
afterAll(() => rmSync(dir, { recursive: true }))

let files = 0
const fileOf = (rows: readonly unknown[], name = `${files++}.jsonl`) => {
  const path = join(dir, name)
  const text = rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n')
  writeFileSync(path, name.endsWith('.gz') ? gzipSync(text) : text)
  return path
}
const lengthOf = (text: string) => tokenizer.encode(text).length
const open = (rows: readonly unknown[], spec: Partial<FileTaskSpec> = {}) =>
  openFileTask(
    { name: 'sums', path: fileOf(rows), verifier: 'math', maxResponseTokens: 8, ...spec },
    lengthOf,
  )
const sums = (n: number) => Array.from({ length: n }, (_, i) => ({ prompt: `${i}+1?`, answer: `${i + 1}` }))
const refusal = (rows: readonly unknown[], spec: Partial<FileTaskSpec> = {}) =>
  open(rows, spec).then(
    () => 'no error',
    (error: { code: string; message: string }) => `${error.code} ${error.message.replaceAll(`${dir}/`, '')}`,
  )

describe('rows', () => {
  it('train and hold out, each prompt on one side, the same in every order of the file', async () => {
    const task = await open(sums(400))
    const pool = task.train(1)
    const trained = Array.from({ length: pool.size }, (_, i) => pool.item(i))
    const held = task.heldOut(0, 400 - pool.size)
    expect(held.length).toBeGreaterThan(25)
    expect(new Set([...trained, ...held].map((item) => item.prompt)).size).toBe(400)
    const turned = await open(sums(400).reverse())
    expect(new Set(turned.heldOut(0, held.length).map((i) => i.prompt))).toEqual(
      new Set(held.map((i) => i.prompt)),
    )
    expect(() => task.heldOut(0, held.length + 1)).toThrow(RangeError)
  })

  it('a prompt that stands there twice is on one side', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g'), { minLength: 1 }),
        async (prompts) => {
          const task = await open([
            { prompt: 'x', answer: 0 },
            ...prompts.map((prompt) => ({ prompt, answer: 1 })),
          ])
          const pool = task.train(0)
          const trained = new Set(Array.from({ length: pool.size }, (_, i) => pool.item(i).prompt))
          const all = new Set(['x', ...prompts])
          const held = task.heldOut(0, all.size - trained.size)
          expect(held.filter((item) => trained.has(item.prompt))).toEqual([])
        },
      ),
      { numRuns: 30 },
    ))

  it('of messages, of a compressed file, with fields of other names and a truth of several', async () => {
    const rows = sums(20).map(({ prompt, answer }) => ({
      messages: [
        { role: 'system', content: 'Add.' },
        { role: 'user', content: prompt },
      ],
      tests: [answer],
      language: 'python',
    }))
    const task = await openFileTask(
      {
        name: 'sums',
        path: fileOf(rows, 'messages.jsonl.gz'),
        prompt: 'messages',
        truth: ['language', 'tests'],
        verifier: 'code',
        maxResponseTokens: 8,
      },
      lengthOf,
    )
    const item = task.train(0).item(0)
    expect(item.prompt).toMatch(/^Add\.\n\d+\+1\?$/)
    expect(item.groundTruth).toEqual({ language: 'python', tests: [expect.any(String)] })
    expect(task.maxPromptTokens).toBe('Add.\n19+1?'.length)
  })

  it('hold out a file of their own, and have responses to imitate', async () => {
    const rows = sums(5).map((row) => ({ ...row, response: `=${row.answer}` }))
    const heldOut = fileOf([{ prompt: '9+9?', answer: '18', response: '=18!' }])
    const task = await open(rows, { heldOut, response: 'response', maxResponseTokens: undefined })
    expect(task.train(0).size).toBe(5)
    expect(task.heldOut(0, 1)[0]).toMatchObject({ prompt: '9+9?', groundTruth: '18' })
    expect(task.maxResponseTokens).toBe(4)
    expect(task.demonstration(task.train(0).item(2), 0, 0)).toBe('=3')
  })
})

describe('what is refused', () => {
  it.each<[string, unknown[], Partial<FileTaskSpec>, string]>([
    ['no JSON', ['{"prompt":'], {}, '1: expected a JSON object, got "{\\"prompt\\":"'],
    ['a list', ['[1]'], {}, '1: expected a JSON object, got [1]'],
    [
      'no prompt',
      [{ answer: 1 }],
      {},
      '1: prompt: expected a text, or messages with one of a user, got none',
    ],
    ['an empty prompt', [{ prompt: '', answer: 1 }], {}, '1: prompt: expected a text, or messages'],
    ['no truth', ['', { prompt: 'a' }], {}, '2: answer: expected the truth for the verifier, got none'],
    ['no response', [{ prompt: 'a', answer: 1 }], { response: 'r' }, '1: r: expected a text, got none'],
    ['a foreign character', [{ prompt: 'ä', answer: 1 }], {}, '1: text: expected newline or printable ASCII'],
    [
      'a conversation',
      [
        {
          prompt: ['user', 'assistant', 'user'].map((role) => ({ role, content: 'a' })),
          answer: 1,
        },
      ],
      {},
      '1: prompt: expected a text, or messages with one of a user',
    ],
    ['no rows', [], {}, 'expected rows to train on, got none'],
    [
      'no length of a response',
      sums(9),
      { maxResponseTokens: undefined },
      'CONFIG_INVALID tasks.sums.maxResponseTokens: expected a number where rows have no responses, got none',
    ],
  ])('%s', async (_, rows, spec, message) => {
    const said = await refusal(rows, spec)
    expect(said).toContain('CONFIG_INVALID ')
    expect(said).toContain(message)
  })

  it('many bad rows: the first are named and the others counted', async () => {
    const said = await refusal(Array.from({ length: 12 }, () => ({ answer: 1 })))
    expect(said.match(/expected a text/g)).toHaveLength(5)
    expect(said).toMatch(/; and 7 more$/)
  })

  it('bad rows are skipped where that is asked for, and said', async () => {
    const task = await open([...sums(30), 'junk'], { badRows: 'skip' })
    expect(task.skipped).toEqual([expect.stringMatching(/:31: expected a JSON object, got "junk"$/)])
  })

  it('a prompt that is trained on and held out', async () => {
    const heldOut = fileOf([{ prompt: 'new', answer: 1 }, sums(3)[1]])
    expect(await refusal(sums(3), { heldOut })).toMatch(
      /expected prompts that \d+\.jsonl does not have, got 1 that it has, the first in line 2$/,
    )
  })

  it('a file that is not there, or not compressed', async () => {
    const missing = await refusal([], { path: join(dir, 'none.jsonl') })
    expect(missing).toMatch(/^CONFIG_INVALID none\.jsonl: expected a file of JSON lines: ENOENT/)
    writeFileSync(join(dir, 'plain.gz'), 'plain')
    expect(await refusal([], { path: join(dir, 'plain.gz') })).toMatch(
      /plain\.gz: expected a file of JSON lines/,
    )
  })
})
