import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openSandbox, type Program, type Sandbox } from '../../../src/verifiers/sandbox/index.ts'
import { bombs } from './bombs.ts'
import { Host, runControl, stillTaking } from './controls.ts'
import { type Escape, hostEscapes } from './escapes.ts'
import { program } from './program.ts'
import { traces } from './traces.ts'

const escapes = [...hostEscapes, ...traces]

const signal = new AbortController().signal
const host = new Host()

beforeAll(() => host.listen())
afterAll(() => host.close())

async function attempt(sandbox: Sandbox, given: Escape): Promise<boolean> {
  const run = (source: string): Promise<string> =>
    sandbox
      .run(program(given.language, host.fill(source)), signal)
      .then((ran) => `${ran.stdout} ${ran.error?.message ?? ''}`)
  const first = await run(given.source)
  return host.reached(given.next === undefined ? first : await run(given.next))
}

const bubblewrap = spawnSync('bwrap', ['--unshare-all', '--ro-bind', '/', '/', '/bin/true']).status === 0
const sandboxes = bubblewrap ? (['wasm', 'bubblewrap'] as const) : (['wasm'] as const)

describe.each(sandboxes)('%s', (name) => {
  let sandbox: Sandbox
  beforeAll(() => {
    process.env.CASCADE_SECRET = 'TOKEN'
    sandbox = openSandbox(name, { jobs: 1 })
  })
  afterAll(async () => {
    await sandbox[Symbol.asyncDispose]()
    delete process.env.CASCADE_SECRET
  })

  it.each(escapes.filter(({ only }) => (only ?? name) === name))('$name is contained', async (given) => {
    expect(await attempt(sandbox, given)).toBe(false)
  })

  it.each(bombs)('$name ends', async ({ language, source, ends }) => {
    const ran = await sandbox.run(
      program(language, source, { timeoutMs: ends.includes('timeout') ? 600 : 10_000 }),
      signal,
    )
    expect(ends).toContain(ran.end)
    const after = await sandbox.run(
      program(language, language === 'python' ? 'print(1)' : 'console.log(1)'),
      signal,
    )
    expect(after).toMatchObject({ end: 'completed', stdout: '1\n' })
  })

  it.each(escapes.filter(({ control }) => control === 'no-reset'))(
    '$name: seen without the reset',
    async ({ language, source, next }) => {
      const both: Partial<Program> = { steps: [{ kind: 'exec', source: next! }] }
      const ran = await sandbox.run(program(language, source, both), signal)
      expect(ran.stdout).toContain('ESCAPED')
    },
  )
})

/** Some minutes of plain processes. */
describe.runIf(process.env.CASCADE_SWEEP)('controls', () => {
  it.concurrent.each(escapes.filter(({ control }) => control !== 'no-reset'))('$name', async (given) => {
    const own = new Host()
    await own.listen()
    try {
      const text = await runControl(given, own.fill(given.source))
      expect(own.reached(text), text).toBe(true)
    } finally {
      own.close()
    }
  })

  it.each(bombs.filter(({ name }) => !/memory|power|finally/.test(name)))(
    '$name goes on',
    async ({ language, source }) => {
      expect(await stillTaking(language, source, 1500)).toBe(true)
    },
  )
})
