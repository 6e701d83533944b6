import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { configSchema } from '../../../src/cli/config.ts'
import { engineOf } from '../../../src/cli/run/engine.ts'
import { sourceOf } from '../../../src/cli/run/prompt-source.ts'
import { createRun } from '../../../src/cli/run-folder.ts'
import { openLog } from '../../../src/log/index.ts'
import { follow } from '../../../streams/follow.ts'
import { groupId, hashOutcome } from '../../../streams/group-id.ts'
import type { Append } from '../../../streams/ports.ts'
import {
  advantages,
  type Control,
  checkpoints,
  control,
  type GroupOutcome,
  gradientBatches,
  prompts,
  type Reward,
  type RlStage,
  type Rollout,
  rewards,
  rollouts,
  type Topic,
  updates,
} from '../../../topics/index.ts'
import { cascade, workspace } from './harness.ts'
import { shortRun, warmUp } from './short-run.ts'

/** Each operator alone, in a process of its own, on a folder whose input topic is filled. */

let space: Awaited<ReturnType<typeof workspace>>
let run: string
let stage: RlStage
let source: Awaited<ReturnType<typeof sourceOf>>
const groups = 32

beforeAll(async () => {
  space = await workspace()
  run = join(space.dir, 'alone')
  const config = configSchema.parse({
    ...shortRun(await warmUp(space.dir)),
    verifiers: { own: { kind: 'composite', parts: [{ verifier: 'wording' }] } },
  })
  stage = config.stages[1] as RlStage
  stage.verifier = 'own'
  await mkdir(run)
  await using engine = await engineOf(config, false)
  await createRun(run, {
    runId: 'alone',
    version: '0.1.0',
    seed: 0,
    deterministic: false,
    createdAt: new Date().toISOString(),
    configHash: '',
    config,
    profile: { ...engine.profile },
  })
  source = await sourceOf(config, 0)
  const first = Array.from({ length: groups }, (_, admission) =>
    admitted(admission, { step: 1, policyVersion: 0 }),
  )
  await append([say({ type: 'stage-begin', stage: stage.name, index: 1, version: 0 }, 0), ...first])
}, 120_000)

function admitted(admission: number, at: { step: number; policyVersion: number }): Append {
  const { temperature, topP, topK, maxTokens, logprobsMode } = stage
  const value = {
    ...source.prompt(stage, admission),
    ...at,
    groupId: groupId('alone', stage.name, admission),
    groupSize: stage.groupSize,
    stage: stage.name,
    domain: stage.domain,
    admission,
    sampling: { temperature, topP, topK, maxTokens, logprobsMode, stopTokens: [...source.stopTokens] },
    seed: 0,
  }
  return { topic: prompts(stage.domain), value } as Append
}

afterAll(() => space[Symbol.asyncDispose]())

const say = (body: object, seq: number): Append =>
  ({ topic: control, value: { ...body, epoch: 1, seq } as Control }) as Append

async function append(records: readonly Append[]): Promise<void> {
  await using log = await openLog({ dir: join(run, 'log'), mode: 'append', clock: { now: () => Date.now() } })
  await log.commit({ append: records, settle: [] })
}

async function read<T>(topic: Topic<T>): Promise<{ offset: number; value: T }[]> {
  await using log = await openLog({ dir: join(run, 'log'), mode: 'read', clock: { now: () => Date.now() } })
  const found: { offset: number; value: T }[] = []
  const options = { from: 0, until: 'end', signal: new AbortController().signal } as const
  await follow(log, topic, options, ({ offset, value }) => void found.push({ offset, value }))
  return found
}

async function worker(role: string): Promise<void> {
  expect(await cascade(['worker', role, run])).toMatchObject({ code: 0, stderr: '' })
}

const members = <T>(of: (group: string, index: number) => T): T[] =>
  Array.from({ length: groups }, (_, a) =>
    Array.from({ length: stage.groupSize }, (_, i) => of(groupId('alone', stage.name, a), i)),
  ).flat()
const ids = (records: { value: Rollout | Reward }[]) => records.map((r) => r.value.id).sort()

test('one after the other, each worker turns its input topic into its output topic, once', async () => {
  const expected = members((group, index) => `${group}:${index}`).sort()
  await worker('update')
  expect((await read(checkpoints)).map((c) => c.value.reason)).toEqual(['initial'])
  for (const _ of ['first', 'again']) {
    await worker('generate')
    expect(ids(await read(rollouts(stage.domain)))).toEqual(expected)
  }
  for (const _ of ['first', 'again']) {
    await worker('verify')
    const judged = await read(rewards(stage.domain))
    expect(ids(judged)).toEqual(expected)
    for (const { value } of judged) expect(value.rewards.map((c) => c.verifier)).toEqual(['own', 'wording'])
  }
  await worker('group')
  await worker('group')
  const outcomes = await read(advantages(stage.domain))
  expect(outcomes.map((o) => o.value.admission).sort((a, b) => a - b)).toEqual(
    Array.from(Array(groups).keys()),
  )

  const kept = outcomes.filter((o) => o.value.outcome === 'kept')
  expect(kept.length).toBeGreaterThan(0)
  await append([closed(kept)])
  await worker('pack')
  await worker('pack')
  const batches = await read(gradientBatches)
  expect(batches.map((b) => b.value.members)).toEqual([kept.map((o) => o.value.groupId)])

  await worker('update')
  await worker('update')
  expect((await read(updates)).map((u) => [u.value.step, u.value.version])).toEqual([[1, 1]])

  // In the middle of a stage no checkpoint has the version that prompts are stamped with.
  expect(await read(checkpoints)).toHaveLength(1)
  await append([admitted(groups, { step: 2, policyVersion: 1 })])
  await worker('generate')
  const later = (await read(rollouts(stage.domain))).slice(expected.length)
  expect(later.map((r) => r.value.policyVersion)).toEqual(Array(stage.groupSize).fill(1))
}, 120_000)

function closed(kept: readonly { offset: number; value: GroupOutcome }[]): Append {
  return say(
    {
      type: 'batch-closed',
      stage: stage.name,
      step: 1,
      baseVersion: 0,
      version: 1,
      opens: true,
      groups: kept.map(({ offset, value }) => ({
        groupId: value.groupId,
        admission: value.admission,
        outcomeOffset: offset,
        hash: hashOutcome(value),
      })),
      counts: { admitted: groups, kept: kept.length, filtered: groups - kept.length, lost: 0 },
    },
    1,
  )
}
