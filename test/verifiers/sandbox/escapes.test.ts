import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findProcessLimit, openSandbox, type Sandbox } from '../../../src/verifiers/sandbox/index.ts'
import { bombs } from './bombs.ts'
import { Host, runControl, stillTaking } from './controls.ts'
import { type Escape, hostEscapes } from './escapes.ts'
import { program } from './program.ts'
import { traces } from './traces.ts'

/** All of it, some minutes: every attempt in every sandbox, and every control. */
const sweep = process.env.CASCADE_SWEEP !== undefined
const signal = new AbortController().signal
const bubblewrap = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true']).status === 0
const sandboxes = bubblewrap ? (['wasm', 'bubblewrap'] as const) : (['wasm'] as const)

/** Where the system has no limit on processes, the time limit alone ends a program that starts them. */
const unlimited = (name: string) => name === 'bubblewrap' && findProcessLimit().kind === 'none'

async function withHost(use: (host: Host) => Promise<void>): Promise<void> {
  const host = new Host()
  await host.listen()
  try {
    await use(host)
  } finally {
    host.close()
  }
}

describe.each(sandboxes)('%s', (name) => {
  const all = sweep || name === 'wasm'
  let sandbox: Sandbox
  beforeAll(() => {
    process.env.CASCADE_SECRET = 'TOKEN'
    // A single place, so that the next program comes where the last one was.
    sandbox = openSandbox(name, { jobs: 1 })
  })
  afterAll(async () => {
    await sandbox[Symbol.asyncDispose]()
    delete process.env.CASCADE_SECRET
  })

  const run = async (given: Escape, source: string): Promise<string> => {
    const ran = await sandbox.run(program(given.language, source), signal)
    return `${ran.stdout} ${ran.error?.message ?? ''}`
  }

  it.concurrent.each(
    hostEscapes.filter((given) => (given.only ?? name) === name && !(given.processes && unlimited(name))),
  )('$name is contained', (given) =>
    withHost(async (host) => {
      const said = await run(given, host.fill(given.source))
      expect(host.reached(said), said).toBe(false)
    }),
  )

  it('takes a program again after all that', async () => {
    const ran = await sandbox.run(program('python', 'print(1)'), signal)
    expect(ran).toMatchObject({ end: 'completed', stdout: '1\n' })
  })

  if (!all) return

  describe('what a program leaves', () => {
    it.each(traces)('$name is contained', async ({ language, source, next }) => {
      await sandbox.run(program(language, source), signal)
      const after = await sandbox.run(program(language, next!), signal)
      expect(after.stdout).not.toContain('ESCAPED')
    })

    if (name !== 'wasm') return

    it.each(traces)('$name: seen without the reset', async ({ language, source, next }) => {
      const both = program(language, source, { steps: [{ kind: 'exec', source: next! }] })
      expect((await sandbox.run(both, signal)).stdout).toContain('ESCAPED')
    })
  })

  it.concurrent.each(bombs)('$name ends', async ({ language, source, ends }) => {
    const timeoutMs = ends.includes('timeout') ? 600 : 10_000
    const ran = await sandbox.run(program(language, source, { timeoutMs }), signal)
    expect(ends).toContain(ran.end)
    const print = language === 'python' ? 'print(1)' : 'console.log(1)'
    const after = await sandbox.run(program(language, print), signal)
    expect(after).toMatchObject({ end: 'completed', stdout: '1\n' })
  })
})

if (sweep) {
  describe('controls', () => {
    it.concurrent.each(hostEscapes)('$name', (given) =>
      withHost(async (host) => {
        const said = await runControl(given, host.fill(given.source))
        expect(host.reached(said), said).toBe(true)
      }),
    )

    it.each(bombs.filter(({ name }) => !/memory|power|finally/.test(name)))(
      '$name goes on',
      async ({ language, source }) => {
        expect(await stillTaking(language, source, 1500)).toBe(true)
      },
    )
  })
}
