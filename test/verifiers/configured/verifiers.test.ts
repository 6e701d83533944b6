import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ConfiguredVerifiers, tried } from '../../../src/verifiers/configured/verifiers.ts'
import { verifiers as rules } from '../../../src/verifiers/index.ts'
import type { Samples } from '../../../src/verifiers/judge.ts'
import type { Verdict } from '../../../streams/ports.ts'
import { rollout } from '../../streams/helpers.ts'
import { json, loopback, status } from '../remote/loopback.ts'
import { configured } from './helpers.ts'

const { signal } = new AbortController()

describe('preflight', () => {
  test('rules and kinds know their samples, in the processes that will judge', async () => {
    const entries = {
      bare: { kind: 'math', bare: true },
      share: { kind: 'instruction', share: true, mode: 'loose' },
      fuzzy: { kind: 'patch', fuzz: 2, unit: 'lines' },
      programs: { kind: 'code', language: 'javascript', partial: true },
      all: { kind: 'composite', parts: [{ verifier: 'math' }, { verifier: 'bare', weight: 0.5 }] },
    }
    const names = [...Object.keys(rules), ...Object.keys(entries)]
    await using verifiers = await configured(names, entries)
    expect(verifiers.names.sort()).toEqual([...names, 'math'].sort())
    await verifiers.preflight(signal)
  })

  const made = (score: number | 'broken') => ({
    verify: async (): Promise<Verdict> =>
      score === 'broken'
        ? { outcome: 'failed', code: 'VERIFIER_TIMEOUT', message: 'took more than 5 ms', retryable: false }
        : { outcome: 'score', score },
  })
  const one = [{ response: '', truth: null }]
  test.each<[string, Samples, number | 'broken', string]>([
    [
      'a good sample that fails',
      { good: one, bad: one },
      0.4,
      'good sample 0: expected a score of at least 0.5, got 0.4',
    ],
    [
      'a bad sample that passes',
      { good: one, bad: one },
      1,
      'bad sample 0: expected a score of less than 0.5, got 1',
    ],
    ['a hang', { good: one, bad: one }, 'broken', 'good sample 0: took more than 5 ms'],
    ['no samples', { good: [], bad: one }, 1, 'expected a good and a bad sample, got none'],
  ])('%s stops the run', async (_, samples, score, message) => {
    await expect(tried('x', made(score), samples, signal)).rejects.toMatchObject({
      code: 'VERIFIER_FAILED',
      message: `verifier x: ${message}`,
    })
  })
})

test('a name that is none is refused, a version that is another is not handed out', async () => {
  await expect(configured(['toString'])).rejects.toThrow(/expected one of .*sum, wording, got toString/)
  await using registry = await configured(['sum'])
  expect(() => registry.current('math')).toThrow(/expected one of .*, got math/)
  const sum = registry.current('sum')
  expect(registry.pinned('sum', sum.version, sum.codeHash)).toBe(sum)
  expect(registry.pinned('sum', sum.version, 'other')).toBeUndefined()
})

test('built-in rules keep their names, versions and hashes: a resumed run goes on with them', async () => {
  await using registry = await configured(['sum', 'wording'])
  for (const name of ['sum', 'wording']) {
    const { version, codeHash } = rules[name]!()
    expect(registry.current(name)).toMatchObject({ name, version, codeHash, limited: true })
  }
})

test('options and what makes a case decide the hash; where a judgement runs does not', async () => {
  const entries = {
    a: { kind: 'math' },
    same: { kind: 'math', concurrency: 2, wallMs: 99, memoryMb: 256 },
    bare: { kind: 'math', bare: true },
    strict: { kind: 'instruction' },
    loose: { kind: 'instruction', mode: 'loose' },
    code: { kind: 'code' },
    partial: { kind: 'code', partial: true },
  }
  await using registry = await configured(Object.keys(entries), entries)
  const hash = (name: string) => registry.current(name).codeHash
  expect(hash('a')).toBe(hash('same'))
  const different = ['a', 'bare', 'strict', 'loose', 'code', 'partial'].map(hash)
  expect(new Set(different).size).toBe(different.length)
})

/** Their processes serve all cases of these tables. */
const entries = {
  math: { kind: 'math' },
  instruction: { kind: 'instruction' },
  share: { kind: 'instruction', share: true },
  patch: { kind: 'patch' },
  code: { kind: 'code' },
  script: { kind: 'code', language: 'javascript' },
}
let shared: ConfiguredVerifiers

beforeAll(async () => {
  shared = await configured(Object.keys(entries), entries)
})

afterAll(() => shared[Symbol.asyncDispose]())

const cases: [
  name: string,
  verifier: keyof typeof entries,
  truth: unknown,
  response: string,
  score: number,
][] = [
  ['a text as answer', 'math', '12', '7+5=12\n#### 12', 1],
  ['a number as answer', 'math', 12, 'So it is \\boxed{13}.', 0],
  ['an object with the answer', 'math', { answer: '0.5' }, 'It is \\boxed{\\frac12}', 1],
  [
    'instructions',
    'instruction',
    { instructions: [{ id: 'punctuation:no_comma', kwargs: {} }] },
    'Without any.',
    1,
  ],
  [
    'instructions with a mode of their own, and the prompt that they came with',
    'instruction',
    {
      prompt: 'x',
      mode: 'loose',
      instructions: [{ id: 'startend:quotation', kwargs: null }],
    },
    'Sure:\n"Quoted."',
    1,
  ],
  [
    'a share',
    'share',
    {
      instructions: [{ id: 'punctuation:no_comma' }, { id: 'startend:quotation' }],
    },
    'Without any.',
    0.5,
  ],
  [
    'a change',
    'patch',
    {
      context: { 'a.txt': 'one\n' },
      reference: 'a.txt\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n',
    },
    'a.txt\n<<<<<<< SEARCH\none\n=======\ntwo\n>>>>>>> REPLACE\n',
    1,
  ],
  [
    'tests, and a program among words',
    'script',
    { tests: [{ call: 'f', args: [2], expected: 4 }] },
    'First:\n```js\nconst f = () => 0\n```\nBetter:\n```js\nconst f = (x) => x * x\n```\nDone.',
    1,
  ],
]
test.each(cases)('%s of a ground truth', async (_, name, truth, response, score) => {
  const given = rollout({ groundTruth: truth, responseText: response, promptText: 'the prompt' })
  const verdict = await shared.current(name).verify(given, signal)
  expect(verdict).toMatchObject({ outcome: 'score', score })
})

test.each<[string, keyof typeof entries, unknown, string]>([
  ['nothing', 'math', null, 'expected a text, a number or {answer}, got null'],
  ['a list', 'math', ['1'], 'expected a text, a number or {answer}, got a list'],
  ['a number that is none', 'math', Number.NaN, 'expected a text, a number or {answer}, got number'],
  ['an unknown field', 'math', { answer: '1', hint: '2' }, '(value): Unrecognized key: "hint"'],
  [
    "the rollout's own field",
    'math',
    { answer: '1', response: '1' },
    "response: expected none, it is the rollout's own",
  ],
  ['a text', 'patch', 'x', 'expected the fields of a case, got string'],
  ['no language', 'code', { tests: [{ assert: 'true' }] }, 'language: Invalid option'],
  ['unknown instructions', 'instruction', { instructions: [{ id: 'no:such' }] }, 'got "no:such"'],
])('%s as a ground truth is an error, never a zero', async (_, name, truth, why) => {
  const verdict = await shared
    .current(name)
    .verify(rollout({ groundTruth: truth, responseText: '1' }), signal)
  expect(verdict).toMatchObject({ outcome: 'failed', code: 'VERIFIER_FAILED', retryable: false })
  expect(verdict).toMatchObject({ message: expect.stringContaining(why) as string })
})

describe('what asks others', () => {
  const graded = { choices: [{ message: { content: '{"reason": "fine", "score": 8}' } }] }

  test('a judge gets its key from the environment, and what composites make of it is recorded part by part', async () => {
    await using server = await loopback(json(graded))
    const entries = {
      graded: {
        kind: 'judge',
        url: server.url,
        model: 'm',
        criteria: 'right',
        scale: [0, 10],
        apiKeyEnv: 'JUDGE_KEY',
      },
      both: {
        kind: 'composite',
        parts: [
          { verifier: 'sum', weight: 0, gate: { atLeast: 1, otherwise: -1 } },
          { verifier: 'graded', weight: 2 },
        ],
      },
    }
    await using verifiers = await configured(['both'], entries, { env: { JUDGE_KEY: 'k' } })
    const both = verifiers.current('both')
    expect(await both.verify(rollout({ responseText: '=3', groundTruth: '3' }), signal)).toMatchObject({
      outcome: 'score',
      score: 1.6,
      components: [
        { verifier: 'sum', score: 1, weight: 0 },
        { verifier: 'graded', score: 0.8, weight: 2 },
      ],
    })
    expect(await both.verify(rollout({ responseText: '=4', groundTruth: '3' }), signal)).toMatchObject({
      score: -1,
      detail: { gate: 'sum' },
    })
    expect(server.headers.map((h) => h.authorization)).toEqual(['Bearer k', 'Bearer k'])
  })

  test('the error of a part is the error of the whole', async () => {
    await using server = await loopback(status(503, 'restarting'))
    const entries = {
      server: { kind: 'remote', url: server.url, attempts: 2, backoffMs: 1 },
      both: { kind: 'composite', parts: [{ verifier: 'sum' }, { verifier: 'server' }] },
    }
    await using verifiers = await configured(['both'], entries)
    const given = rollout({ responseText: '=3', groundTruth: '3' })
    expect(await verifiers.current('both').verify(given, signal)).toMatchObject({
      outcome: 'failed',
      code: 'VERIFIER_FAILED',
      message: expect.stringContaining('part server') as string,
      retryable: true,
    })
    expect(server.bodies).toHaveLength(2)
  })

  test('a secret that is not set is told by its field; a hash needs none', async () => {
    const entries = {
      server: { kind: 'remote', url: 'http://127.0.0.1:9/', headersEnv: { 'x-key': 'REWARD_KEY' } },
    }
    await expect(configured(['server'], entries)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      message: expect.stringMatching(/^verifiers\.server\.headersEnv\.x-key: /) as string,
    })
    await using without = await configured(['server'], entries, { env: undefined })
    await using keyed = await configured(['server'], entries, { env: { REWARD_KEY: 'x' } })
    expect(without.current('server').codeHash).toBe(keyed.current('server').codeHash)
  })
})
