import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CodeCase, CodeJudge, codeCase } from '../../../src/verifiers/code/index.ts'
import { openSandbox, type Sandbox } from '../../../src/verifiers/sandbox/index.ts'
import { program } from './program.ts'
import { fusionServer, pistonServer, type RemoteServer } from './remote-server.ts'

const bubblewrap = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true']).status === 0
const signal = new AbortController().signal

const sandboxes: { name: string; server?: () => Promise<RemoteServer> }[] = [
  { name: 'wasm' },
  ...(bubblewrap ? [{ name: 'bubblewrap' }] : []),
  { name: 'piston', server: () => pistonServer() },
  { name: 'sandboxfusion', server: () => fusionServer() },
]

/** What every sandbox does alike, whatever it runs programs in. */
describe.each(sandboxes)('$name', ({ name, server }) => {
  let sandbox: Sandbox
  let judge: CodeJudge
  let partial: CodeJudge
  let remote: RemoteServer | undefined
  beforeAll(async () => {
    remote = await server?.()
    sandbox = openSandbox(name, {
      jobs: 2,
      limits: { outputChars: 200_000 },
      ...(remote ? { url: remote.url } : {}),
    })
    judge = new CodeJudge(sandbox, false)
    partial = new CodeJudge(sandbox, true)
  })
  afterAll(async () => {
    await sandbox[Symbol.asyncDispose]()
    await remote?.[Symbol.asyncDispose]()
  })
  const given = (rest: Partial<CodeCase>): CodeCase =>
    codeCase.parse({ id: 'a', language: 'python', code: '', tests: [], timeoutMs: 15_000, ...rest })

  it.concurrent.each([
    {
      language: 'python' as const,
      code: 'def double(x):\n  return x * 2\n',
      assert: ['assert double(3) == 6', 'assert double(3) == 7'],
      program: 'assert double("é") == "éé"\n',
      echo: 'import sys\nprint(sys.stdin.read().strip() * 2, end="")',
      log: 'print("seen")\n',
    },
    {
      language: 'javascript' as const,
      code: 'const double = (x) => typeof x === "string" ? x + x : x * 2\n',
      assert: ["require('assert').equal(double(3), 6)", 'console.assert(double(3) === 7)'],
      program: "const _ = require('lodash')\nconsole.assert(_.isEqual([double('é')], ['éé']))\n",
      echo: "process.stdout.write(require('fs').readFileSync(0, 'utf8').trim().repeat(2))",
      log: 'console.log("seen")\n',
    },
    {
      language: 'typescript' as const,
      code: 'const double = (x: any): any => typeof x === "string" ? x + x : x * 2\n',
      assert: ['console.assert((double(3) as number) === 6)', 'console.assert(double(3) as any === 7)'],
      program: "import * as assert from 'assert'\nassert.equal(double('é') as string, 'éé')\n",
      echo: "import * as fs from 'fs'\nprocess.stdout.write((fs.readFileSync(0, 'utf8') as string).trim().repeat(2))",
      log: 'console.log("seen")\n',
    },
  ])('judges $language by every sort of test', async ({ language, code, assert, program, echo, log }) => {
    const tests = [
      { assert: assert[0]! },
      { assert: assert[1]! },
      { call: 'double', args: [21], expected: 42 },
      { call: 'double', args: [21], expected: 41 },
      { program },
      { stdin: 'ab\n', stdout: 'seen' },
      { stdin: 'ab\n', stdout: 'abab' },
    ]
    const verdict = await partial.judge(given({ language, code: code + log, tests }), signal)
    expect(verdict).toMatchObject({ outcome: 'score', detail: { passed: 4, failed: { test: 1 } } })
    const input = [{ stdin: 'ab\n', stdout: 'abab\n' }]
    expect(await judge.judge(given({ language, code: echo, tests: input }), signal)).toMatchObject({
      score: 1,
    })
  })

  it.concurrent('reads TypeScript as strictly as the case says', async () => {
    const unclosed = {
      language: 'typescript' as const,
      code: 'const x: number = (1\n',
      tests: [{ program: '' }],
    }
    expect(await judge.judge(given(unclosed), signal)).toMatchObject({
      score: 0,
      detail: { reason: 'compile' },
    })
    expect(await judge.judge(given({ ...unclosed, syntax: 'recover' }), signal)).toMatchObject({ score: 1 })
  })

  it.concurrent('brings values back as data', async () => {
    const args = [
      "'\\\n\u{1f600}\u2028</script>",
      JSON.parse('{"__proto__": 1, "a": [null, true, -0.5]}'),
      2 ** 53 - 1,
    ]
    for (const [language, code] of [
      ['python', 'def same(*a): return a'],
      ['javascript', 'const same = (...a) => a'],
    ] as const) {
      const tests = [{ call: 'same', args, expected: args }] as CodeCase['tests']
      expect(await judge.judge(given({ language, code, tests }), signal), language).toMatchObject({
        score: 1,
      })
    }
  })

  it.concurrent.each([
    ['python', 'x = (', 'compile'],
    ['python', 'none()', 'error'],
    ['python', 'import sys\nsys.exit(0)', 'exit'],
    ['python', 'import sys\nsys.exit(3)', 'exit'],
    ['python', "while True: print('x' * 100)", 'output'],
    ['python', "x = 'x' * (2 * 10 ** 9)", 'memory'],
    ['javascript', 'const x = (', 'compile'],
    ['javascript', 'none()', 'error'],
    ['javascript', 'process.exit(0)', 'exit'],
    ['javascript', 'Promise.reject(new Error("left alone"))', 'error'],
    ['javascript', "for (;;) console.log('x'.repeat(100))", 'output'],
  ] as const)('tells how a program in %s ends: %s', async (language, source, end) => {
    const ran = await sandbox.run(program(language, source, { tests: '', timeoutMs: 15_000 }), signal)
    expect(ran.end).toBe(end)
  })

  it.concurrent.each([
    ['3', '3'],
    ['-1', '-1'],
    ['10 ** 30', '10000000000000000000'],
    ["'words'", '1'],
    ['True', '1'],
    ['None', '0'],
  ])('tells the code of sys.exit(%s)', async (given, code) => {
    const ran = await sandbox.run(program('python', `import sys\nsys.exit(${given})`, { tests: '' }), signal)
    expect(ran).toMatchObject({ end: 'exit', error: { name: 'SystemExit', message: code } })
  })

  it.concurrent.each([
    ['Promise.reject(new Error("left alone")); 1', 'error', 'left alone'],
    ['(async () => { await 1; throw new TypeError("late") })(); 1', 'error', 'late'],
    ['setTimeout(() => { Promise.reject(new Error("at last")) }, 5); 1', 'error', 'at last'],
    [
      'const p = Promise.reject(new Error("too late")); setTimeout(() => p.catch(() => {}), 5); 1',
      'error',
      'too late',
    ],
    ['new Promise((_, no) => no("a text")).then(() => 1); 1', 'error', 'a text'],
    ['Promise.reject(1).catch(() => {}); 1', 'completed', undefined],
    ['(async () => { try { await Promise.reject(1) } catch {} })(); 1', 'completed', undefined],
    [
      'const p = Promise.reject(1); Promise.resolve().then(() => p.catch(() => {})); 1',
      'completed',
      undefined,
    ],
    ['Promise.allSettled([Promise.reject(1)]); 1', 'completed', undefined],
  ])('fails a program by a rejected promise that nothing handles: %s', async (source, end, said) => {
    const ran = await sandbox.run(program('javascript', source, { timeoutMs: 15_000 }), signal)
    expect(ran).toMatchObject({ end, ...(said ? { error: { message: said } } : {}) })
  })

  it.concurrent.each([
    ['python', 'while True: pass'],
    ['javascript', 'for (;;) {}'],
  ] as const)('ends a program in %s that does not end', async (language, source) => {
    const ran = await sandbox.run(program(language, source, { timeoutMs: 4000 }), signal)
    expect(ran.end).toBe('timeout')
  })

  it.concurrent('keeps programs apart', async () => {
    await sandbox.run(program('python', "open('/tmp/conformance-trace', 'a').close(); trace = 1"), signal)
    const after = await sandbox.run(program('python', "print('trace' in globals())"), signal)
    expect(after).toMatchObject({ end: 'completed', stdout: 'False\n' })
  })

  it.concurrent('ends a program that is called off', async () => {
    const off = new AbortController()
    const running = sandbox.run(program('python', 'while True: pass', { timeoutMs: 60_000 }), off.signal)
    setTimeout(() => off.abort(new Error('called off')), 300)
    await expect(running).rejects.toThrow('called off')
  })
})
