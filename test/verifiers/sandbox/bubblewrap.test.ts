import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { openBubblewrapSandbox } from '../../../src/verifiers/sandbox/index.ts'
import { program } from './program.ts'

const works = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true']).status === 0
const signal = new AbortController().signal

it('says what is missing where there is no bubblewrap', () => {
  const { PATH } = process.env
  process.env.PATH = '/nowhere'
  try {
    expect(() => openBubblewrapSandbox({ jobs: 1 })).toThrow(
      expect.objectContaining({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('bubblewrap'),
      }) as Error,
    )
  } finally {
    process.env.PATH = PATH
  }
})

describe.runIf(works)('with bubblewrap', () => {
  it.each([
    [
      'python',
      'def f(x):\n  return [x, (1, None, 2 ** 70, float("nan"))]\nprint(input())',
      [1, null, 2n ** 70n, Number.NaN],
    ],
    [
      'javascript',
      "const f = (x) => [x, [1, null, 2n ** 70n, NaN]]; console.log(require('fs').readFileSync(0, 'utf8'))",
      [1, null, 2n ** 70n, Number.NaN],
    ],
    [
      'typescript',
      "import * as fs from 'fs'\nconst f = (x: unknown) => [x, [1, null, 2n ** 70n, NaN]]; console.log(fs.readFileSync(0, 'utf8'))",
      [1, null, 2n ** 70n, Number.NaN],
    ],
  ] as const)('brings back what a %s program gives', async (language, source, rest) => {
    await using sandbox = openBubblewrapSandbox({ jobs: 1 })
    const steps = [
      { kind: 'call', name: 'f', args: [{ a: 'b' }] },
      { kind: 'exec', source: language === 'python' ? 'assert False' : 'throw new TypeError("no")' },
    ] as const
    const ran = await sandbox.run(program(language, source, { steps, stdin: 'in' }), signal)
    expect(ran).toMatchObject({
      end: 'completed',
      stdout: 'in\n',
      steps: [{ ok: true, value: { data: true, value: [{ a: 'b' }, rest] } }, { ok: false }],
    })
  })

  it('tells how programs end', async () => {
    await using sandbox = openBubblewrapSandbox({ jobs: 2 })
    const end = async (source: string, timeoutMs = 5000) =>
      (await sandbox.run(program('python', source, { timeoutMs }), signal)).end
    expect(await end('x = (')).toBe('compile')
    expect(await end('x')).toBe('error')
    expect(await end('import os\nos._exit(0)')).toBe('exit')
    expect(await end('import os\nos.abort()')).toBe('crash')
    expect(await end('while True: pass', 500)).toBe('timeout')
    expect(await end("while True: print('x' * 1000)")).toBe('output')
  })

  it('ends a running program when it is called off', async () => {
    await using sandbox = openBubblewrapSandbox({ jobs: 1 })
    const off = new AbortController()
    const running = sandbox.run(program('python', 'while True: pass', { timeoutMs: 60_000 }), off.signal)
    setTimeout(() => off.abort(new Error('called off')), 200)
    await expect(running).rejects.toThrow('called off')
  })
})
