import { readdirSync, writeFileSync } from 'node:fs'
import { createServer, type Server, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { checkBroker } from '../../../src/cli/doctor/broker.ts'
import { answerOf as answerOfProbe, checkEngine } from '../../../src/cli/doctor/engine.ts'
import { checkSandbox } from '../../../src/cli/doctor/sandbox.ts'
import { checkDisk, checkLog } from '../../../src/cli/doctor/storage.ts'
import { checkCores, checkMemory, checkNode, checkTypeScript } from '../../../src/cli/doctor/system.ts'
import { invoke } from '../invoke.ts'
import { scratch } from '../run-on-disk.ts'

test('says what this machine can do, and leaves nothing behind', async () => {
  const cwd = await scratch()
  const { code, out, err } = await invoke(['doctor', '--json'], { cwd })
  expect([code, err]).toEqual([0, ''])
  const { ok, checks } = JSON.parse(out)
  expect(ok).toBe(true)
  const byName = new Map<string, Record<string, unknown>>(checks.map((c: { name: string }) => [c.name, c]))
  expect([...byName.keys()]).toEqual(
    expect.arrayContaining([
      'platform',
      'node',
      'cores',
      'memory',
      'disk',
      'log',
      'onnxruntime',
      'broker',
      'code sandbox',
      'terminal',
    ]),
  )
  // The CPU provider has really computed: the suite runs on it.
  expect(byName.get('provider cpu')).toEqual({ name: 'provider cpu', status: 'ok', detail: 'computes' })
  expect(byName.get('onnxruntime')).toMatchObject({ facts: { version: expect.stringMatching(/^\d+\.\d+/) } })
  expect(byName.get('log')).toMatchObject({ status: 'ok', facts: { medianMs: expect.any(Number) } })
  for (const c of checks) expect(['ok', 'warn', 'fail']).toContain(c.status)
  expect(readdirSync(cwd)).toEqual([])
})

test('exit code 1 and a remedy where something fails', async () => {
  const cwd = await scratch()
  const { code, out } = await invoke(['doctor', '--broker', 'nonsense'], { cwd })
  expect(code).toBe(1)
  expect(out).toMatch(/✗ broker +expected HOST:PORT, got nonsense\n +such as --broker localhost:9092\n/)
  expect(out).toContain('A run does not work here: broker.\n')
})

test('engine: a provider whose process dies, and a package that does not load', async () => {
  const list = {
    version: '1.2.3',
    providers: [
      { name: 'cpu', bundled: true },
      { name: 'cuda', bundled: false },
      { name: 'xnnpack', bundled: true },
    ],
  }
  const checks = await checkEngine(async ([provider]) => {
    if (provider === undefined) return list
    if (provider === 'cuda') throw new Error('its process was ended by SIGSEGV')
    return {}
  })
  expect(checks.map((c) => [c.name, c.status])).toEqual([
    ['onnxruntime', 'ok'],
    ['provider cpu', 'ok'],
    ['provider cuda', expect.stringMatching(/ok|warn/)],
  ])
  expect(checks[2]?.detail).toBe('not available: its process was ended by SIGSEGV')
  const broken = await checkEngine(async () => {
    throw new Error('libonnxruntime.so.1: cannot open shared object file')
  })
  expect(broken).toEqual([
    expect.objectContaining({ name: 'onnxruntime', status: 'fail', advice: expect.any(String) }),
  ])
})

test('engine: what a driver writes before the answer does no harm, and no answer is an error', () => {
  expect(answerOfProbe('libcuda says hello\n{"version":"1"}\n')).toEqual({ version: '1' })
  expect(answerOfProbe('hello\n')).toEqual({ error: 'expected an answer, got "hello"' })
  expect(answerOfProbe('')).toEqual({ error: 'expected an answer, got ""' })
})

test('versions, quotas and memory have a remedy where they fall short', () => {
  const node = (version: string) => checkNode(version, [22, 12]).status
  expect(['22.12.0', '22.11.9', '24.0.0', '18.20.1'].map(node)).toEqual(['ok', 'fail', 'ok', 'fail'])
  expect(checkNode().status).toBe('ok')
  expect(checkNode('18.0.0')).toMatchObject({
    status: 'fail',
    advice: expect.stringMatching(/^use Node 2\d/),
  })
  expect(checkTypeScript(false)).toMatchObject({
    status: 'warn',
    advice: expect.stringContaining('cascade.config.js'),
  })
  expect(checkCores(8, 2.5)).toMatchObject({
    status: 'warn',
    advice: expect.stringContaining('engine.threads to 2'),
  })
  expect(checkCores(8, 8)).toMatchObject({ status: 'ok', detail: '8' })
  expect(checkMemory(8 * 1024 ** 3, 0.5 * 1024 ** 3)).toMatchObject({ status: 'warn' })
})

test('a folder that does not exist yet is looked at through the nearest that does; a wrong one fails', async () => {
  const dir = await scratch()
  expect(await checkDisk(`${dir}/not/yet`)).toMatchObject({
    detail: expect.stringContaining(`free in ${dir}`),
  })
  expect(await checkLog(`${dir}/not/yet`)).toMatchObject({ status: 'ok' })
  writeFileSync(`${dir}/file`, '')
  expect(await checkLog('/proc/1/runs')).toMatchObject({
    name: 'log',
    status: 'fail',
    advice: expect.any(String),
  })
  const impossible = `${dir}/${'n'.repeat(300)}`
  for (const check of [checkDisk, checkLog])
    expect(await check(impossible)).toMatchObject({
      status: 'fail',
      detail: expect.stringMatching(/cannot be looked at: ENAMETOOLONG/),
    })
})

async function listening(answer: (socket: Socket) => void): Promise<string> {
  const server: Server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = server.address()
  return `127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`
}

/** What a broker answers to ApiVersions version 0. */
function answerOf(correlation: number, apis: number): Buffer {
  const frame = Buffer.alloc(14 + apis * 6)
  frame.writeInt32BE(10 + apis * 6, 0)
  frame.writeInt32BE(correlation, 4)
  frame.writeInt32BE(apis, 10)
  return frame
}

test('broker: one that answers, in pieces too; one that speaks something else; none', async () => {
  const kafka = await listening((socket) => {
    socket.once('data', (request) => {
      expect(request.readInt32BE(0)).toBe(request.length - 4)
      expect(request.readInt16BE(4)).toBe(18)
      const answer = answerOf(request.readInt32BE(8), 61)
      socket.write(answer.subarray(0, 7))
      setTimeout(() => socket.end(answer.subarray(7)), 20)
    })
  })
  expect(await checkBroker(kafka)).toMatchObject({ status: 'ok', detail: expect.stringContaining('61 APIs') })
  const web = await listening(
    (socket) => void socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')),
  )
  expect(await checkBroker(web)).toMatchObject({
    status: 'fail',
    detail: `${web}: answers, but does not speak Kafka`,
  })
  const shut = await listening((socket) => void socket.destroy())
  expect(await checkBroker(shut)).toMatchObject({ status: 'fail', advice: expect.any(String) })
  expect(await checkBroker(undefined)).toMatchObject({
    status: 'ok',
    detail: expect.stringContaining('embedded log'),
  })
})

test('code sandbox: what there is to shut programs in with, and that processes are not limited', () => {
  expect(checkSandbox(() => ({ kind: 'cgroup' }))).toMatchObject({
    status: 'ok',
    detail: expect.stringContaining('64 processes each') as string,
    facts: { bubblewrap: true, processLimit: 'cgroup' },
  })
  expect(checkSandbox(() => ({ kind: 'none' }))).toMatchObject({
    status: 'warn',
    advice: expect.stringContaining('forks without end') as string,
  })
  const missing = () => {
    throw new Error('bwrap was not found')
  }
  expect(checkSandbox(missing)).toMatchObject({
    status: 'ok',
    facts: { bubblewrap: false, why: 'bwrap was not found' },
  })
})
