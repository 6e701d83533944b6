import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { configSchema } from '../../../src/cli/config.ts'
import { assemble, clock } from '../../../src/cli/run/assemble.ts'
import { engineOf } from '../../../src/cli/run/engine.ts'
import { openRunVerifiers } from '../../../src/cli/run/open-verifiers.ts'
import type { Manifest } from '../../../src/cli/run-folder.ts'
import { openLog } from '../../../src/log/index.ts'
import { cascade } from '../../../streams/cascade.ts'
import type { TopicLog } from '../../../streams/ports.ts'
import { type RoleName, roleNames } from '../../../streams/roles.ts'
import { recordsOf, workspace } from './harness.ts'
import { shortRun, warmUp } from './short-run.ts'

let space: Awaited<ReturnType<typeof workspace>>
let manifest: Manifest
let whole: Record<string, string[]>

beforeAll(async () => {
  space = await workspace()
  const config = configSchema.parse(shortRun(await warmUp(space.dir)))
  manifest = {
    runId: 'run',
    version: '0.1.0',
    seed: 5,
    deterministic: true,
    createdAt: '',
    configHash: '',
    config,
    profile: {},
  }
  whole = await runWith('whole', async (go) => expect(await go(roleNames)).toBe('done'))
}, 120_000)

afterAll(() => space[Symbol.asyncDispose]())

type Go = (
  roles: readonly RoleName[],
  until?: (log: TopicLog) => Promise<void>,
) => Promise<'done' | 'stopped' | 'halted'>

/** Gives `use` a way to run some roles, to the end or until something is seen in the log; returns the records then. */
async function runWith(name: string, use: (go: Go) => Promise<void>): Promise<Record<string, string[]>> {
  const dir = join(space.dir, name)
  const go: Go = async (roles, until) => {
    await using log = await openLog({ dir: join(dir, 'log'), mode: 'append', clock })
    await using engine = await engineOf(manifest.config, manifest.deterministic)
    const halt = new AbortController()
    const { signal } = halt
    await using verifiers = await openRunVerifiers(log, dir, manifest, { env: {}, signal })
    const parts = await assemble({ log, epoch: log.epoch, dir, manifest, engine, verifiers, signal })
    const running = cascade(log, { ...parts, roles }).catch((error: unknown) => {
      if (error === halt.signal.reason) return 'halted' as const
      throw error
    })
    await until?.(log).then(() => halt.abort())
    return await running
  }
  await use(go)
  return recordsOf(dir)
}

const size = async (log: TopicLog) => (await log.topics()).reduce((sum, t) => sum + t.next, 0)

/** Until nothing has been written for a while: everything waits for the part that is missing. */
async function stalled(log: TopicLog): Promise<void> {
  for (let before = -1; ; ) {
    const now = await size(log)
    if (now === before) return
    before = now
    await new Promise((later) => setTimeout(later, 700))
  }
}

describe('without one role the others wait, and nothing is lost once it is there', () => {
  test.each([...roleNames])('%s', async (missing) => {
    const records = await runWith(`without-${missing}`, async (go) => {
      expect(
        await go(
          roleNames.filter((r) => r !== missing),
          stalled,
        ),
      ).toBe('halted')
      expect(await go(roleNames)).toBe('done')
    })
    expect(records).toEqual(whole)
  })
})
