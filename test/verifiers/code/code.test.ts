import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CodeCase, CodeJudge, codeCase, codeKind } from '../../../src/verifiers/code/index.ts'
import { openSandbox } from '../../../src/verifiers/sandbox/index.ts'

const signal = new AbortController().signal
let judge: CodeJudge
let partial: CodeJudge

beforeAll(() => {
  const sandbox = openSandbox('wasm', { jobs: 1 })
  judge = new CodeJudge(sandbox, false)
  partial = new CodeJudge(sandbox, true)
})
afterAll(() => judge[Symbol.asyncDispose]())

const given = (rest: Partial<CodeCase>): CodeCase =>
  codeCase.parse({ id: 'a', language: 'python', code: '', tests: [], timeoutMs: 5000, ...rest })
const double = 'def double(x):\n    return x * 2\n'

describe.each([
  {
    language: 'python' as const,
    right: 'def double(x):\n    return x + x\n',
    wrong: 'def double(x):\n    return x + 2\n',
    assert: 'assert double(3) == 6',
    echo: 'print(input() * 2)',
    program: 'def check(f):\n    assert f(3) == 6\ncheck(double)\n',
    endless: 'while True: pass\n',
    exit: 'import sys\nsys.exit(0)\n',
  },
  {
    language: 'javascript' as const,
    right: 'const double = (x) => x + x\n',
    wrong: 'const double = (x) => x + 2\n',
    assert: "require('assert').strictEqual(double(3), 6)",
    echo: "console.log(require('fs').readFileSync(0, 'utf8').trim().repeat(2))",
    program: 'console.assert(double(3) === 6)\n',
    endless: 'for (;;) {}\n',
    exit: 'process.exit(0)\n',
  },
  {
    language: 'typescript' as const,
    right: 'const double = (x: number): number => x + x\n',
    wrong: 'const double = (x: number): number => x + 2\n',
    assert: 'console.assert(double(3) === 6)',
    echo: "import * as fs from 'fs'\nconsole.log((fs.readFileSync(0, 'utf8') as string).trim().repeat(2))",
    program: "import * as assert from 'assert'\nassert.equal(double(3), 6)\n",
    endless: 'for (;;) {}\n',
    exit: 'process.exit(0)\n',
  },
])('$language', ({ language, right, wrong, assert, echo, program, endless, exit }) => {
  it.each([
    ['an assertion', { assert }],
    ['a call', { call: 'double', args: [3], expected: 6 }],
    ['a program', { program }],
  ])('judges by %s', async (_, test) => {
    const pass = await judge.judge(
      given({ language, code: right, tests: [test] as CodeCase['tests'] }),
      signal,
    )
    expect(pass).toEqual({ outcome: 'score', score: 1, detail: { tests: 1 } })
    const fail = await judge.judge(
      given({ language, code: wrong, tests: [test] as CodeCase['tests'] }),
      signal,
    )
    expect(fail).toMatchObject({ outcome: 'score', score: 0, detail: { failed: { test: 0 } } })
  })

  it('judges by input and output', async () => {
    const tests = [
      { stdin: 'ab\n', stdout: 'abab\n\n' },
      { stdin: 'x', stdout: 'y' },
    ]
    expect(
      await judge.judge(given({ language, code: echo, tests: tests.slice(0, 1) }), signal),
    ).toMatchObject({
      score: 1,
    })
    expect(await judge.judge(given({ language, code: echo, tests }), signal)).toMatchObject({
      score: 0,
      detail: { reason: 'wrong', failed: { test: 1, kind: 'stdin', expected: 'y', got: 'xx\n' } },
    })
  })

  it('gives the reason of a program that does not get to its tests', async () => {
    const reason = async (code: string, timeoutMs = 5000) =>
      judge.judge(given({ language, code, tests: [{ program }], timeoutMs }), signal)
    expect(await reason(`${right}x = (`)).toMatchObject({ score: 0, detail: { reason: 'compile' } })
    expect(await reason(`${right}none.such()\n`)).toMatchObject({ score: 0, detail: { reason: 'error' } })
    expect(await reason(right + endless, 400)).toMatchObject({ score: 0, detail: { reason: 'timeout' } })
    expect(await reason(right + exit)).toMatchObject({ score: 0, detail: { reason: 'exit' } })
  })
})

it('scores the share of tests passed where that is asked for', async () => {
  const tests = [
    { call: 'double', args: [1], expected: 2 },
    { call: 'double', args: [1], expected: 3 },
    { assert: 'assert double(2) == 4' },
    { assert: 'assert double(2) == 5' },
  ]
  expect(await partial.judge(given({ code: double, tests }), signal)).toMatchObject({
    score: 0.5,
    detail: { tests: 4, passed: 2, failed: { test: 1, expected: '3', got: '2' } },
  })
})

it('compares data outside of the sandbox: an object that equals everything is no answer', async () => {
  const code = 'class Any(int):\n    def __eq__(self, other): return True\ndef double(x): return Any(7)\n'
  const tests = [{ call: 'double', args: [1], expected: 2 }]
  expect(await judge.judge(given({ code, tests }), signal)).toMatchObject({
    score: 0,
    detail: { reason: 'wrong' },
  })
  const script = 'const double = () => ({ toJSON: () => 2, valueOf: () => 2 })'
  expect(await judge.judge(given({ language: 'javascript', code: script, tests }), signal)).toMatchObject({
    score: 0,
  })
})

it('hands arguments over as data, whatever they spell', async () => {
  const args = ["'\\\n\u{1f600}\u2028", JSON.parse('{"__proto__": 1, "a": [null, true, -0.5, 1e21]}')]
  for (const [language, code] of [
    ['python', 'def same(*a): return a'],
    ['javascript', 'const same = (...a) => a'],
  ] as const) {
    const tests = [{ call: 'same', args, expected: args }] as CodeCase['tests']
    expect(
      await judge.judge({ id: 'a', language, code, tests, timeoutMs: 5000 }, signal),
      language,
    ).toMatchObject({ score: 1 })
  }
})

it('lets unittest end in its own way', async () => {
  const tests = [
    {
      program:
        "import unittest\nclass T(unittest.TestCase):\n    def test_it(self): self.assertEqual(double(2), 4)\nif __name__ == '__main__': unittest.main()\n",
    },
  ]
  expect(await judge.judge(given({ code: double, tests }), signal)).toMatchObject({ score: 1 })
  const wrong = 'def double(x): return 5\n'
  expect(await judge.judge(given({ code: wrong, tests }), signal)).toMatchObject({ score: 0 })
})

it('gives only the modules of the case', async () => {
  const one = given({ language: 'javascript', code: "require('lodash')", tests: [{ program: '' }] })
  expect(await judge.judge(one, signal)).toMatchObject({ score: 1 })
  expect(await judge.judge({ ...one, modules: ['assert'] }, signal)).toMatchObject({ score: 0 })
})

it('says that there is no program', async () => {
  expect(await judge.judge(given({ code: ' \n', tests: [{ program: '' }] }), signal)).toMatchObject({
    outcome: 'unparsable',
    score: 0,
  })
})

it('refuses options that it does not know', async () => {
  await expect(codeKind.open({ jobs: 1, flags: { sandbox: 'none' } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  })
  await expect(codeKind.open({ jobs: 1, flags: { partial: 1 } })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
  })
})

it.each([
  { id: 'a', language: 'ruby', code: '', tests: [{ program: '' }], timeoutMs: 1 },
  { id: 'a', language: 'python', code: '', tests: [], timeoutMs: 1 },
  { id: 'a', language: 'python', code: '', tests: [{ call: 'f(', args: [], expected: 1 }], timeoutMs: 1 },
  { id: 'a', language: 'python', code: '', tests: [{ program: '', assert: '' }], timeoutMs: 1 },
  { id: 'a', language: 'python', code: '', tests: [{ program: '' }], timeoutMs: 0 },
  { id: 'a', language: 'python', code: '', tests: [{ program: '' }], timeoutMs: 1, more: 1 },
])('refuses a case of another shape: %j', (line) => {
  expect(codeCase.safeParse(line).success).toBe(false)
})

describe('TypeScript that is none', () => {
  const tests = [{ program: "import * as assert from 'assert'\nassert.equal(double(3), 6)\n" }]
  const typescript = (code: string, rest: Partial<CodeCase> = {}) =>
    judge.judge(given({ language: 'typescript', syntax: 'recover', code, tests, ...rest }), signal)
  const unclosed = 'function double(x: number): number {\n  return (x * 2\n}\n'

  it('fails where it is read strictly, and runs as the compiler guesses where that is asked for', async () => {
    expect(await typescript(unclosed, { syntax: 'strict' })).toMatchObject({
      score: 0,
      detail: { reason: 'compile' },
    })
    expect(await typescript(unclosed)).toMatchObject({ score: 1 })
    expect(await typescript('function double(x) { return (x + 2 }')).toMatchObject({ score: 0 })
  })

  it('is run as the body of a function, with steps as a script', async () => {
    expect(await typescript('return 1')).toMatchObject({ score: 1 })
    const steps = [
      { assert: 'console.assert((double(3) as number) === 6' },
      { call: 'double', args: [2], expected: 4 },
    ]
    expect(await typescript(unclosed, { tests: steps })).toMatchObject({ score: 1 })
  })

  it('cannot take the compiler down with it', async () => {
    const deep = `const x = ${'('.repeat(200_000)}1`
    const verdict = await typescript(deep)
    expect(verdict).toMatchObject({ outcome: 'score', score: 0 })
    expect(await typescript(unclosed)).toMatchObject({ score: 1 })
  })
})

it('says when it begins with a program, not while that waits for another', async () => {
  const began: string[] = []
  const off = new AbortController()
  const tests = [{ program: '' }]
  const endless = new Promise<void>((begun) => {
    const first = given({ code: 'while True: pass\n', tests, timeoutMs: 60_000 })
    judge
      .judge(first, off.signal, () => {
        began.push('first')
        begun()
      })
      .catch(() => began.push('first is off'))
  })
  const second = judge.judge(given({ code: double, tests }), signal, () => began.push('second'))
  await endless
  expect(began).toEqual(['first'])
  off.abort()
  expect(await second).toMatchObject({ score: 1 })
  expect(began.sort()).toEqual(['first', 'first is off', 'second'])
})
