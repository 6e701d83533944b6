import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { CodeJudge } from '../../../src/verifiers/code/index.ts'
import { openPistonSandbox, openSandbox, openSandboxFusion } from '../../../src/verifiers/sandbox/index.ts'
import { program } from './program.ts'
import { fusionServer, pistonServer, type RemoteServer } from './remote-server.ts'

const signal = new AbortController().signal
const one = program('python', 'print(1)', { timeoutMs: 15_000 })
const backoffMs = 1

const status =
  (code: number, body = '', headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(code, headers).end(body)
const cut = (response: ServerResponse) => void response.socket!.destroy()
const times = <T>(n: number, thing: T): T[] => Array.from({ length: n }, () => thing)

describe.each([
  { name: 'piston', serve: () => pistonServer(), open: openPistonSandbox },
  { name: 'sandboxfusion', serve: () => fusionServer(), open: openSandboxFusion },
])('$name', ({ serve, open }) => {
  /** Past the first request, which may ask what the server has. */
  async function warm(server: RemoteServer) {
    const sandbox = open({ jobs: 1, url: server.url, backoffMs })
    expect(await sandbox.run(one, signal)).toMatchObject({ end: 'completed', stdout: '1\n' })
    server.requests.length = 0
    return sandbox
  }

  it.each([
    ['a connection that breaks', cut],
    ['a server that is broken', status(503, 'down')],
    ['a server that is busy', status(429, 'slow down', { 'retry-after': '0' })],
  ])('gets over %s', async (_, fault) => {
    await using server = await serve()
    await using sandbox = await warm(server)
    server.faults.push(...times(3, fault))
    expect(await sandbox.run(one, signal)).toMatchObject({ end: 'completed', stdout: '1\n' })
    expect(server.requests).toHaveLength(4)
  })

  it('waits as long as a busy server asks', async () => {
    await using server = await serve()
    await using sandbox = await warm(server)
    server.faults.push(status(429, 'slow down', { 'retry-after': '0.4' }))
    const began = performance.now()
    await sandbox.run(one, signal)
    expect(performance.now() - began).toBeGreaterThanOrEqual(395)
  })

  it.each([
    ['keeps breaking', times(9, cut), /4?/],
    ['stays broken', times(9, status(500, 'no disk')), /status 500: no disk/],
    ['stays busy', times(9, status(429, 'later')), /status 429/],
    ['wants a longer wait than there is', [status(429, '', { 'retry-after': '3600' })], /status 429/],
    ['answers with no JSON', [status(200, '<html>')], /expected JSON, got "<html>"/],
    ['answers with other JSON', [status(200, '{"run": 7, "status": 7}')], /expected \{.*got \{"run":7/],
    ['answers with nothing', [status(200, '')], /expected JSON/],
  ])('is a failure to be tried again where the server %s', async (_, faults, message) => {
    await using server = await serve()
    await using sandbox = await warm(server)
    server.faults.push(...faults)
    const judge = new CodeJudge(sandbox, false)
    const given = {
      id: 'a',
      language: 'python',
      code: 'x = 1',
      tests: [{ program: '' }],
      timeoutMs: 9000,
    } as const
    expect(await judge.judge({ ...given, tests: [...given.tests] }, signal)).toMatchObject({
      outcome: 'failed',
      retryable: true,
      message: expect.stringMatching(message) as string,
    })
  })

  it('is a failure that names the refusal where trying again is of no use', async () => {
    await using server = await serve()
    await using sandbox = await warm(server)
    server.faults.push(status(400, '{"message": "run_timeout cannot exceed the configured limit of 3000"}'))
    await expect(sandbox.run(one, signal)).rejects.toMatchObject({
      retryable: false,
      message: expect.stringContaining('cannot exceed the configured limit of 3000') as string,
    })
    expect(server.requests).toHaveLength(1)
  })

  it('is a failure to be tried again where nobody listens', async () => {
    const server = await serve()
    await server[Symbol.asyncDispose]()
    await using sandbox = open({ jobs: 1, url: server.url, backoffMs })
    await expect(sandbox.run(one, signal)).rejects.toMatchObject({
      retryable: true,
      message: expect.stringContaining('ECONNREFUSED') as string,
    })
  })

  it('is a failure to be tried again where the driver did not begin', async () => {
    await using server = await serve()
    await using sandbox = await warm(server)
    const ran = {
      stdout: '',
      stderr: 'python3: not found',
      code: 127,
      return_code: 127,
      signal: null,
      status: null,
    }
    const body = { run: ran, status: 'Failed', message: '', run_result: { ...ran, status: 'Finished' } }
    server.faults.push(status(200, JSON.stringify(body)))
    await expect(sandbox.run(one, signal)).rejects.toMatchObject({
      retryable: true,
      message: expect.stringContaining('did not begin: exit code 127  python3: not found') as string,
    })
  })

  it('takes what a program writes over its limit for its end', async () => {
    await using server = await serve()
    await using sandbox = open({ jobs: 1, url: server.url, limits: { outputChars: 1000 } })
    const loud = program('python', "print('x' * 2000)", { timeoutMs: 15_000 })
    expect((await sandbox.run(loud, signal)).end).toBe('output')
    const louder = program('python', "print('x' * 2_000_000)", { timeoutMs: 15_000 })
    expect((await sandbox.run(louder, signal)).end).toBe('output')
  })

  it('sends its token, and lodash to whom names it', async () => {
    await using server = await serve()
    await using sandbox = open({ jobs: 1, url: server.url, token: 'secret' })
    await sandbox.run(program('javascript', "require('lodash')", { timeoutMs: 15_000 }), signal)
    const [with_] = server.requests.slice(-1)
    await sandbox.run(program('javascript', '1', { timeoutMs: 15_000 }), signal)
    const [without] = server.requests.slice(-1)
    expect(with_!.authorization).toBe('secret')
    expect(Object.keys(with_!.body.files as object)).toHaveLength(with_!.path.includes('execute') ? 2 : 1)
    expect(JSON.stringify(without!.body).length).toBeLessThan(20_000)
  })

  it('does not count a program killed by itself as a fault', async () => {
    await using server = await serve()
    await using sandbox = await warm(server)
    const suicide = program('python', 'import os, signal\nos.kill(os.getpid(), signal.SIGKILL)', {
      timeoutMs: 15_000,
    })
    expect((await sandbox.run(suicide, signal)).end).toBe('crash')
  })
})

describe('piston', () => {
  it('runs on the newest fitting runtime', async () => {
    await using server = await pistonServer()
    await using sandbox = openPistonSandbox({ jobs: 1, url: `${server.url}/api/v2/` })
    await sandbox.run(one, signal)
    await sandbox.run(program('javascript', '1', { timeoutMs: 15_000 }), signal)
    const ran = server.requests.filter(({ path }) => path === '/api/v2/execute').map(({ body }) => body)
    expect(ran).toMatchObject([
      { language: 'python', version: '3.12.0' },
      { language: 'javascript', version: '20.11.1' },
    ])
  })

  it('names a language that the server lacks', async () => {
    const runtimes = [{ language: 'python', version: '3.12.0', aliases: [] }]
    await using server = await pistonServer({ runtimes })
    await using sandbox = openPistonSandbox({ jobs: 1, url: server.url })
    await expect(sandbox.run(program('typescript', '1'), signal)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      retryable: false,
      message: 'sandbox: piston: expected a server that has javascript on node, got one with python 3.12.0',
    })
  })

  it('names a version that the server no longer has', async () => {
    await using server = await pistonServer()
    await using sandbox = openPistonSandbox({ jobs: 1, url: server.url })
    await sandbox.run(one, signal)
    server.faults.push(status(400, '{"message": "python-3.12.0 runtime is unknown"}'))
    await expect(sandbox.run(one, signal)).rejects.toThrow('python-3.12.0 runtime is unknown')
  })

  it.each([{}, { old: true as const }])(
    "takes the server's own limit on output for no fault of the program: %j",
    async (tweaks) => {
      await using server = await pistonServer({ ...tweaks, outputMaxSize: 1024 })
      await using sandbox = openPistonSandbox({ jobs: 1, url: server.url })
      const long = program('python', "print('x' * 5000)\nimport time\ntime.sleep(9)", { timeoutMs: 15_000 })
      await expect(sandbox.run(long, signal)).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('PISTON_OUTPUT_MAX_SIZE') as string,
      })
    },
  )

  it('tells a time-out where the server does not say it', async () => {
    await using server = await pistonServer({ old: true })
    await using sandbox = openPistonSandbox({ jobs: 1, url: server.url })
    const endless = program('python', 'while True: pass', { timeoutMs: 4000 })
    expect((await sandbox.run(endless, signal)).end).toBe('timeout')
  })

  it('is a failure to be tried again where the isolation of the server fails', async () => {
    await using server = await pistonServer()
    await using sandbox = openPistonSandbox({ jobs: 1, url: server.url })
    await sandbox.run(one, signal)
    const run = { stdout: '', stderr: '', code: null, signal: null, status: 'XX', message: 'no cgroup' }
    server.faults.push(status(200, JSON.stringify({ run })))
    await expect(sandbox.run(one, signal)).rejects.toMatchObject({ retryable: true })
  })
})

describe('sandboxfusion', () => {
  it('names a language that the server lacks', async () => {
    await using server = await fusionServer(['python'])
    await using sandbox = openSandboxFusion({ jobs: 1, url: server.url })
    await expect(sandbox.run(program('javascript', '1'), signal)).rejects.toMatchObject({
      retryable: false,
      message: expect.stringMatching(/status 422.*'python'/) as string,
    })
  })

  it('is a failure to be tried again where the server could not run it', async () => {
    await using server = await fusionServer()
    await using sandbox = openSandboxFusion({ jobs: 1, url: server.url })
    server.faults.push(
      status(200, '{"status": "SandboxError", "message": "no space left", "run_result": null}'),
    )
    await expect(sandbox.run(one, signal)).rejects.toMatchObject({
      retryable: true,
      message: expect.stringContaining('no space left') as string,
    })
  })
})

it.each([
  ['piston', undefined, 'sandbox-url: piston: expected the http address of its server, got none'],
  [
    'sandboxfusion',
    'ftp://x',
    'sandbox-url: sandboxfusion: expected the http address of its server, got ftp://x',
  ],
  ['wasm', 'http://x', 'sandbox-url: wasm runs on this machine: expected none, got http://x'],
])('refuses addresses that are of no use: %s %s', (name, url, message) => {
  expect(() => openSandbox(name, { jobs: 1, ...(url ? { url } : {}) })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message }) as Error,
  )
})
