import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readRewardModel } from '../../../src/model/reward/index.ts'
import { invoke, jsonLines } from '../invoke.ts'
import { start } from '../run/harness.ts'

const small = ['--layers', '1', '--hidden', '16', '--heads', '2', '--threads', '1', '--batch', '8']
const train = ['reward-model', 'train', '--out', 'model', '--steps', '20', ...small]

function folder(): string {
  const cwd = mkdtempSync(join(tmpdir(), 'cascade-reward-model-'))
  onTestFinished(() => rmSync(cwd, { recursive: true }))
  return cwd
}

function pairsFile(cwd: string, lines: readonly unknown[]): void {
  const text = lines.map((l) => `${typeof l === 'string' ? l : JSON.stringify(l)}\n`)
  writeFileSync(join(cwd, 'pairs.jsonl'), text.join(''))
}

/** Prefers what ends in `!`, whatever else it says. */
const exclaimed = (n: number) =>
  Array.from({ length: n }, (_, i) => ({
    prompt: `number ${i >> 1}?\n`,
    chosen: `${'ab'.repeat(i % 4)}${i}!`,
    rejected: `${'cd'.repeat((i * 3) % 4)}${i}.`,
    source: 'made up',
  }))

test('trains on the built-in pairs, and the model judges cases and serves', async () => {
  const cwd = folder()
  const { code, out } = await invoke([...train, '--seed', '3', '--json'], { cwd })
  expect(code).toBe(0)
  const [begin, step, result, ...more] = jsonLines(out)
  expect(more).toEqual([])
  expect(begin).toMatchObject({ event: 'begin', pairs: 160, heldOut: 1024, steps: 20, batch: 8, seed: 3 })
  expect(step).toMatchObject({ event: 'step', step: 20, steps: 20, loss: expect.any(Number), secondsLeft: 0 })
  const { hash, config } = await readRewardModel(join(cwd, 'model'))
  expect(result).toMatchObject({ event: 'result', out: join(cwd, 'model'), hash, seed: 3 })
  const { accuracy, interval, pairs, right } = result!.heldOut as Record<string, number & number[]>
  expect(accuracy).toBe(right! / pairs!)
  expect(interval![0]).toBeLessThan(accuracy!)
  expect(interval![1]).toBeGreaterThan(accuracy!)
  const { longer, shorter } = result!.baselines as Record<string, number>
  expect(longer! + shorter!).toBe(1)
  expect(config).toMatchObject({ num_hidden_layers: 1, hidden_size: 16, head: 'reward' })
  expect(readdirSync(cwd)).toEqual(['model'])

  const cases = [
    { id: 'a', prompt: 'fox x2\n', response: 'fox fox' },
    { id: 'b', prompt: 'fox x2\n', response: 'x'.repeat(88) },
    { id: 'c', prompt: 'fox x2\n', response: 'fóx' },
  ]
  writeFileSync(join(cwd, 'cases.jsonl'), cases.map((c) => JSON.stringify(c)).join('\n'))
  const judged = await invoke(
    ['verify', 'preference', '--in', 'cases.jsonl', '--out', '-', '--model', 'model'],
    {
      cwd,
    },
  )
  expect(judged.code).toBe(1)
  const [a, b, c] = jsonLines(judged.out)
  expect(a).toMatchObject({
    id: 'a',
    outcome: 'score',
    score: expect.any(Number),
    detail: { reward: a!.score, tokens: 16, model: hash.slice(0, 12) },
    verifier: 'preference',
  })
  expect(b).toMatchObject({ outcome: 'error', score: null, code: 'RECORD_INVALID' })
  expect(c).toMatchObject({ outcome: 'error', score: null, code: 'RECORD_INVALID' })

  const running = start([
    'verify',
    'serve',
    'preference',
    '--port',
    '0',
    '--json',
    '--jobs',
    '1',
    '--model',
    join(cwd, 'model'),
  ])
  await running.says('"url"')
  const { url } = JSON.parse(running.output())
  const post = async (body: unknown) => {
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify(body) })
    return [answer.status, (await answer.json()) as unknown] as const
  }
  const { prompt, response } = cases[0]!
  const [status, scores] = await post([
    { prompt, response },
    { prompt: 'fox x1\n', response, label: null },
  ])
  expect([status, scores]).toEqual([200, [a!.score, expect.any(Number)]])
  expect((scores as number[])[1]).not.toBe(a!.score)
  expect(await post(cases[2])).toEqual([422, expect.objectContaining({ code: 'RECORD_INVALID' })])
  expect(await post({ response })).toEqual([400, { error: expect.stringMatching(/preference case: prompt/) }])
  running.kill('SIGINT')
  expect(await running.ended).toMatchObject({ code: 0, stderr: '' })
})

test('learns from a file, holds out prompts of it, goes on from a model, and says so to a person', async () => {
  const cwd = folder()
  pairsFile(cwd, [...exclaimed(300), ''])
  const more = ['--pairs', 'pairs.jsonl', '--held-out', '0.2', '--lr', '0.01', '--steps', '60']
  const first = await invoke([...train, ...more, '--json'], { cwd })
  expect(first.code).toBe(0)
  const [begin] = jsonLines(first.out)
  const result = jsonLines(first.out).at(-1)!
  expect((begin!.pairs as number) + (begin!.heldOut as number)).toBe(300)
  expect(begin!.heldOut).toBeGreaterThan(30)
  expect(result.heldOut).toMatchObject({ accuracy: 1, pairs: begin!.heldOut })
  const again = [...train.slice(0, 3), 'second', '--steps', '2', '--batch', '4', '--threads', '1']
  const { code, out } = await invoke([...again, '--pairs', 'pairs.jsonl', '--init', 'model'], { cwd })
  expect(code).toBe(0)
  expect(out).toMatch(/^held-out 100\.0 % of \d+ pairs right \(95 % interval \d+\.\d–100\.0\)\n/)
  expect(out).toMatch(
    /\nuntrained 100\.0 % · the longer one \d+\.\d % · the shorter one \d+\.\d %\nsecond · /,
  )
})

const good = { prompt: 'a\n', chosen: 'b', rejected: 'c' }

describe('what cannot be used is named, and nothing is written', () => {
  test.each<[string, readonly unknown[], string[], RegExp]>([
    ['a line that is no JSON', ['{'], [], /pairs\.jsonl:1: expected a JSON object, got "\{"/],
    ['a missing field', [good, { prompt: 'a', chosen: 'b' }], [], /pairs\.jsonl:2: rejected: /],
    [
      'equal responses',
      [{ ...good, rejected: 'b' }],
      [],
      /:1: rejected: expected another text than chosen, got the same/,
    ],
    [
      'a text too long',
      [{ ...good, chosen: 'x'.repeat(95) }],
      [],
      /:1: chosen: expected at most 96 tokens with its prompt, got 99/,
    ],
    ['a strange character', [{ ...good, rejected: '…' }], [], /:1: rejected: text: .*U\+2026/],
    ['a strange character in a prompt', [{ ...good, prompt: 'é' }], [], /:1: prompt: text: .*U\+00E9/],
    ['one prompt only', [good, good], [], /expected pairs for training and, with other prompts, to hold out/],
    ['an empty file', [], [], /got 0 and 0 of 0/],
    [
      'a file that is not there',
      [good],
      ['--pairs', 'gone.jsonl'],
      /gone\.jsonl: expected a file of pairs: ENOENT/,
    ],
    ['heads that do not fit', [good], ['--heads', '3'], /--hidden: expected a multiple of 6, got 16/],
    ['a share of all', [good], ['--held-out', '1'], /expected a share between 0 and 1, got 1/],
    ['a rate of 0', [good], ['--lr', '0'], /expected a number above 0, got 0/],
    ['no steps', [good], ['--steps', '0'], /expected a whole number above 0, got 0/],
    [
      'a shape beside a checkpoint',
      [good],
      ['--init', 'x'],
      /--layers, --hidden, --heads: expected none beside --init/,
    ],
  ])('%s', async (_, lines, more, message) => {
    const cwd = folder()
    pairsFile(cwd, lines)
    const { code, err } = await invoke([...train, '--pairs', 'pairs.jsonl', ...more], { cwd })
    expect(err).toMatch(message)
    expect(code).toBe(2)
    expect(readdirSync(cwd)).toEqual(['pairs.jsonl'])
  })

  test('a folder that holds something', async () => {
    const cwd = folder()
    mkdirSync(join(cwd, 'model'))
    writeFileSync(join(cwd, 'model/notes.txt'), 'mine')
    const { code, err } = await invoke(train, { cwd })
    expect(err).toMatch(/--out: expected a folder that does not exist yet, got model, one with 1 entries/)
    expect(code).toBe(2)
  })

  test('the share of a built-in set, a checkpoint that is not there, a kind without a model', async () => {
    const cwd = folder()
    const share = await invoke([...train, '--held-out', '0.5'], { cwd })
    expect(share).toMatchObject({ code: 2, err: expect.stringContaining('--held-out: expected only beside') })
    const gone = await invoke(['reward-model', 'train', '--out', 'model', '--init', 'gone'], { cwd })
    expect(gone).toMatchObject({
      code: 1,
      err: expect.stringMatching(/CHECKPOINT_NOT_FOUND: .*gone: expected a/),
    })
    writeFileSync(join(cwd, 'cases.jsonl'), '')
    const kind = await invoke(['verify', 'preference', '--in', 'cases.jsonl', '--out', '-'], { cwd })
    expect(kind).toMatchObject({
      code: 2,
      err: expect.stringContaining('error USAGE: --model: preference: expected the folder of a reward model'),
    })
  })
})

test('Ctrl-C ends it, and leaves nothing behind', async () => {
  const cwd = folder()
  const args = ['reward-model', 'train', '--out', join(cwd, 'model'), '--steps', '100000', ...small, '--json']
  pairsFile(cwd, exclaimed(200))
  const running = start([...args, '--pairs', join(cwd, 'pairs.jsonl')])
  await running.says('"event":"step"')
  running.kill('SIGINT')
  expect(await running.ended).toMatchObject({ code: 130, stderr: expect.stringContaining('INTERRUPTED') })
  expect(readdirSync(cwd)).toEqual(['pairs.jsonl'])
})
