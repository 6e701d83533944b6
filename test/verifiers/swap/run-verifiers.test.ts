import { expect, test } from 'vitest'
import { bundleVerifier } from '../../../src/verifiers/swap/bundle.ts'
import { RunVerifiers } from '../../../src/verifiers/swap/run-verifiers.ts'
import { VerifierStore } from '../../../src/verifiers/swap/store.ts'
import { control, type VerifierChange } from '../../../topics/index.ts'
import { rollout } from '../../streams/helpers.ts'
import { MemoryLog } from '../../streams/memory-log.ts'
import { configured } from '../configured/helpers.ts'
import { folderOf, strict } from './modules.ts'

const signal = new AbortController().signal

class Run {
  readonly log = new MemoryLog()
  readonly dir = folderOf({})
  #seq = 0

  async version(scale: number): Promise<{ version: string; codeHash: string }> {
    const bundle = await bundleVerifier('strict.ts', folderOf(strict), { scale })
    await new VerifierStore(this.dir).put(bundle, { name: 'sum', version: `v${scale}` })
    return { version: `v${scale}`, codeHash: bundle.codeHash }
  }

  async record(action: VerifierChange['action'], more: Partial<VerifierChange> = {}): Promise<void> {
    this.#seq += 1
    const value = {
      type: 'verifier',
      epoch: 1,
      seq: this.#seq,
      id: `c${this.#seq}`,
      action,
      name: 'sum',
      ...more,
    } as const
    await this.log.commit({ append: [{ topic: control, value }], settle: [] })
  }

  async open(): Promise<RunVerifiers> {
    const { log, dir } = this
    return RunVerifiers.open(
      { log, dir, initial: await configured(['sum']), size: 1, limits: { wallMs: 2000 } },
      signal,
    )
  }
}

const right = rollout({ responseText: '1+2=3', groundTruth: '3' })

async function until(what: () => boolean): Promise<void> {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('what is promoted judges from then on; what a group is pinned to stays; a restart comes to the same', async () => {
  const run = new Run()
  const [a, b] = [await run.version(0.25), await run.version(0.75)]
  await using verifiers = await run.open()
  const stop = new AbortController()
  const following = verifiers.follow(stop.signal).catch(() => undefined)
  const first = verifiers.current('sum')
  await run.record('stage', a)
  await until(() => verifiers.candidate('sum') !== undefined)
  expect(verifiers.current('sum')).toBe(first)
  expect(verifiers.candidate('sum')).toMatchObject({ change: 'c1', rule: undefined, verifier: a })
  await run.record('promote')
  await until(() => verifiers.current('sum').version === 'v0.25')
  expect(verifiers.candidate('sum')).toBeUndefined()
  expect(await verifiers.current('sum').verify(right, signal)).toMatchObject({
    outcome: 'score',
    score: 0.25,
  })
  await run.record('stage', b)
  await run.record('promote')
  await until(() => verifiers.current('sum').version === 'v0.75')
  const pinned = verifiers.pinned('sum', a.version, a.codeHash)!
  expect(await pinned.verify(right, signal)).toMatchObject({ score: 0.25 })
  expect(verifiers.pinned('sum', first.version, first.codeHash)).toBe(first)
  expect(verifiers.pinned('sum', 'v0.75', a.codeHash)).toBeUndefined()
  await using again = await run.open()
  expect(again.current('sum')).toMatchObject(b)
  await run.record('rollback')
  await until(() => verifiers.current('sum').version === 'v0.25')
  stop.abort()
  await following
})

test('a refused change changes nothing; a version that the store lacks is an error', async () => {
  const run = new Run()
  await run.record('stage', { version: 'x', codeHash: 'gone', refused: 'for a reason' })
  await using verifiers = await run.open()
  expect(verifiers.candidate('sum')).toBeUndefined()
  await run.record('stage', { version: 'x', codeHash: 'gone' })
  await expect(run.open()).rejects.toThrow(/gone\.json: expected a stored verifier/)
})
