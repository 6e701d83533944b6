import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A server that runs what it is sent with the python3 and node of this machine: nothing isolates, so only for programs of the tests. */
export interface RemoteServer extends AsyncDisposable {
  readonly url: string
  readonly requests: { path: string; body: Record<string, unknown>; authorization: string | undefined }[]
  /** Answers the next requests, one each, before the server runs any again. */
  readonly faults: ((response: ServerResponse) => void)[]
}

export interface PistonTweaks {
  /** Languages that `GET /api/v2/runtimes` lists. */
  runtimes?: unknown
  /** PISTON_OUTPUT_MAX_SIZE */
  outputMaxSize?: number
  /** Fields that servers before 2024 do not have. */
  old?: true
}

interface Ran {
  stdout: string
  stderr: string
  code: number | null
  signal: string | null
  late: boolean
  over: 'OL' | 'EL' | undefined
}

const pistonRuntimes = [
  { language: 'python', version: '2.7.18', aliases: ['py2'] },
  { language: 'python', version: '3.9.4', aliases: ['py', 'python3'] },
  { language: 'python', version: '3.12.0', aliases: ['py', 'python3'] },
  { language: 'javascript', version: '1.32.3', aliases: ['deno-js'], runtime: 'deno' },
  { language: 'javascript', version: '20.11.1', aliases: ['node-javascript', 'js'], runtime: 'node' },
]

/** `GET /api/v2/runtimes` and `POST /api/v2/execute` as Piston's docs/api-v2.md and api/src/job.js have them. */
export function pistonServer(tweaks: PistonTweaks = {}): Promise<RemoteServer> {
  const { runtimes = pistonRuntimes, outputMaxSize = Number.POSITIVE_INFINITY, old } = tweaks
  return serve(async (path, body) => {
    if (path === '/api/v2/runtimes') return [200, runtimes]
    if (path !== '/api/v2/execute') return [404, { message: 'Not Found' }]
    const { language, version, files, stdin = '', run_timeout = 3000 } = body as unknown as PistonRequest
    const known = (runtimes as typeof pistonRuntimes).some(
      (r) => r.language === language && r.version === version,
    )
    if (!known) return [400, { message: `${language}-${version} runtime is unknown` }]
    const input = stdin.endsWith('\n') ? stdin : `${stdin}\n`
    const command = language === 'python' ? 'python3' : process.execPath
    const ran = await runFiles(command, files, input, run_timeout, outputMaxSize)
    const { stdout, stderr, code, late, over } = ran
    const status = late ? 'TO' : (over ?? (ran.signal ? 'SG' : code === 0 ? null : 'RE'))
    const signal = late || over ? 'SIGKILL' : ran.signal
    const run = { stdout, stderr, output: stdout + stderr, code, signal }
    return [200, { language, version, run: old ? run : { ...run, status, message: null, memory: 1 } }]
  })
}

interface PistonRequest {
  language: string
  version: string
  files: { name: string; content: string }[]
  stdin?: string
  run_timeout?: number
}

/** `POST /run_code` as SandboxFusion's sandbox/server/sandbox_api.py and sandbox/runners/base.py have it. */
export function fusionServer(languages = ['python', 'nodejs']): Promise<RemoteServer> {
  return serve(async (path, body) => {
    if (path !== '/run_code') return [404, { detail: 'Not Found' }]
    const { language, code, stdin = '', files = {}, run_timeout = 10 } = body as unknown as FusionRequest
    if (!languages.includes(language)) {
      const msg = `Input should be ${languages.map((name) => `'${name}'`).join(' or ')}`
      return [422, { detail: [{ type: 'literal_error', loc: ['body', 'language'], msg }] }]
    }
    const [command, name] = language === 'python' ? ['python3', 'tmp1.py'] : [process.execPath, 'tmp1.js']
    const beside = Object.entries(files).map(([file, text]) => ({
      name: file,
      content: Buffer.from(text, 'base64').toString(),
    }))
    const all = [{ name, content: code }, ...beside]
    const ran = await runFiles(command, all, stdin, run_timeout * 1000, Number.POSITIVE_INFINITY)
    const number = ran.signal === 'SIGKILL' ? -9 : ran.signal === 'SIGABRT' ? -6 : ran.code
    const { stdout, stderr } = ran
    const run_result = ran.late
      ? { status: 'TimeLimitExceeded', execution_time: run_timeout, return_code: null, stdout, stderr }
      : { status: 'Finished', execution_time: 0.1, return_code: number, stdout, stderr }
    const status = !ran.late && number === 0 ? 'Success' : 'Failed'
    return [
      200,
      { status, message: '', compile_result: null, run_result, executor_pod_name: null, files: {} },
    ]
  })
}

interface FusionRequest {
  language: string
  code: string
  stdin?: string
  files?: Record<string, string>
  run_timeout?: number
}

async function runFiles(
  command: string,
  files: readonly { name: string; content: string }[],
  stdin: string,
  timeoutMs: number,
  outputMaxSize: number,
): Promise<Ran> {
  const folder = await mkdtemp(join(tmpdir(), 'cascade-remote-'))
  try {
    for (const { name, content } of files) await writeFile(join(folder, name), content)
    const child = spawn(command, [files[0]!.name], { cwd: folder, env: { PATH: process.env.PATH } })
    const ran: Ran = { stdout: '', stderr: '', code: null, signal: null, late: false, over: undefined }
    const timer = setTimeout(() => {
      ran.late = true
      child.kill('SIGKILL')
    }, timeoutMs)
    for (const [name, status] of [
      ['stdout', 'OL'],
      ['stderr', 'EL'],
    ] as const) {
      child[name].setEncoding('utf8').on('data', (text: string) => {
        if (ran[name].length + text.length <= outputMaxSize) ran[name] += text
        else {
          ran[name] += text.slice(0, outputMaxSize - ran[name].length)
          ran.over = status
          child.kill('SIGKILL')
        }
        if (ran[name].length > 5e6) child.kill('SIGKILL')
      })
    }
    child.stdin.on('error', () => {}) // a program need not read it
    child.stdin.end(stdin)
    const [code, signal] = (await once(child, 'close')) as [number | null, string | null]
    clearTimeout(timer)
    return { ...ran, code, signal }
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function serve(
  answer: (path: string, body: Record<string, unknown>) => Promise<[status: number, body: unknown]>,
): Promise<RemoteServer> {
  const requests: RemoteServer['requests'] = []
  const faults: RemoteServer['faults'] = []
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const text = Buffer.concat(parts).toString()
      const body = (text ? JSON.parse(text) : {}) as Record<string, unknown>
      requests.push({ path: request.url!, body, authorization: request.headers.authorization })
      const bad = faults.shift()
      if (bad) return bad(response)
      answer(request.url!, body).then(
        ([status, given]) =>
          response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(given)),
        (error: unknown) => response.writeHead(500).end(String(error)),
      )
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    faults,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
