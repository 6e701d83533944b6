import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openWasmSandbox, type Sandbox } from '../../../src/verifiers/sandbox/index.ts'
import { childrenOf } from '../../processes.ts'
import { program } from './program.ts'

const signal = new AbortController().signal
const linux = process.platform === 'linux'
let sandbox: Sandbox
beforeAll(() => {
  sandbox = openWasmSandbox({ jobs: 1 })
})
afterAll(() => sandbox[Symbol.asyncDispose]())

/** Processes of the sandbox under this one. */
const children = () => childrenOf(process.pid, 'sandbox/worker/main')

const quick = () => sandbox.run(program('javascript', 'console.log(1)'), signal)
const endless = program('javascript', 'for (;;) {}', { timeoutMs: 60_000 })
const soon = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms))

it('ends a running program at once when it is called off, and goes on', async () => {
  await quick()
  const off = new AbortController()
  const running = sandbox.run(endless, off.signal)
  await soon(100)
  off.abort(new Error('called off'))
  await expect(running).rejects.toThrow('called off')
  expect(await quick()).toMatchObject({ end: 'completed' })
})

it('lets a program that waits be called off', async () => {
  const first = new AbortController()
  const second = new AbortController()
  const running = sandbox.run(endless, first.signal)
  const waiting = sandbox.run(endless, second.signal)
  second.abort(new Error('second'))
  await expect(waiting).rejects.toThrow('second')
  first.abort(new Error('first'))
  await expect(running).rejects.toThrow('first')
})

describe.runIf(linux)('a child that is killed from outside', () => {
  it('is replaced, and its program is run again', async () => {
    await quick()
    const running = sandbox.run(
      program('javascript', 'const end = Date.now() + 500; while (Date.now() < end); console.log(2)'),
      signal,
    )
    await soon(100)
    for (const pid of children()) process.kill(pid, 'SIGKILL')
    expect(await running).toMatchObject({ end: 'completed', stdout: '2\n' })
  })

  it('is a failure of the sandbox and no verdict when that happens again and again', async () => {
    await quick()
    const running = sandbox.run(endless, signal)
    const outcome = expect(running).rejects.toMatchObject({ code: 'VERIFIER_FAILED', retryable: true })
    let over = false
    const killer = (async () => {
      while (!over) {
        await soon(700)
        for (const pid of children()) process.kill(pid, 'SIGKILL')
      }
    })()
    await outcome
    over = true
    await killer
    expect(await quick()).toMatchObject({ end: 'completed' })
  })

  it('has an empty environment', async () => {
    await quick()
    for (const pid of children()) expect(readFileSync(`/proc/${pid}/environ`, 'utf8')).not.toContain('PATH=')
  })
})

it('leaves no process behind', async () => {
  const own = openWasmSandbox({ jobs: 2 })
  await Promise.all([1, 2].map(() => own.run(program('javascript', '1'), signal)))
  const before = linux ? children().length : 0
  const running = own.run(endless, signal)
  const outcome = expect(running).rejects.toMatchObject({ code: 'VERIFIER_FAILED' })
  await own[Symbol.asyncDispose]()
  await outcome
  if (linux) expect(children().length).toBe(before - 2)
  await expect(own.run(endless, signal)).rejects.toMatchObject({ code: 'VERIFIER_FAILED' })
})

it('gives the same answers to the same programs, in any number', async () => {
  const source = "import random\nprint(random.random(), hash('a'), sorted({'b', 'a', 'c'}))"
  const runs = await Promise.all([1, 2, 3].map(() => sandbox.run(program('python', source), signal)))
  expect(new Set(runs.map(({ stdout }) => stdout)).size).toBe(1)
})
