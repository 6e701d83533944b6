import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CascadeInput } from '../../../src/cli/config.ts'
import { openLog } from '../../../src/log/index.ts'
import { follow } from '../../../streams/follow.ts'
import {
  evaluations,
  type Reward,
  type Rollout,
  rewards,
  rollouts,
  type StageInput,
  type Topic,
} from '../../../topics/index.ts'
import { cascade, start, workspace, writeConfig } from './harness.ts'
import { quickRun } from './quick-run.ts'

/** Runs whose config names their verifiers, by the real program. */

let space: Awaited<ReturnType<typeof workspace>>

beforeAll(async () => {
  space = await workspace()
})

afterAll(() => space[Symbol.asyncDispose]())

async function written(
  name: string,
  verifiers: CascadeInput['verifiers'],
  rl: Partial<StageInput>,
  more: Partial<CascadeInput> = {},
): Promise<{ config: string; dir: string; folder: string }> {
  const folder = join(space.dir, name)
  await mkdir(folder)
  const config = await writeConfig(folder, { ...quickRun({ rl }), ...more, verifiers })
  return { config, folder, dir: join(folder, 'run') }
}

async function read<T>(dir: string, topic: Topic<T>): Promise<T[]> {
  await using log = await openLog({ dir: join(dir, 'log'), mode: 'read', clock: { now: () => 0 } })
  const found: T[] = []
  const { signal } = new AbortController()
  await follow(log, topic, { from: 0, until: 'end', signal }, ({ value }) => void found.push(value))
  return found
}
const rewardsOf = (dir: string): Promise<Reward[]> => read(dir, rewards('math'))

/** No two terminal records of a rollout, no score without a verdict, no two versions in a group. */
function sound(all: readonly Reward[]): void {
  expect(new Set(all.map((r) => r.id)).size).toBe(all.length)
  const versions = new Map<string, Set<string>>()
  for (const { kind, score, groupId, rewards: components } of all) {
    expect(score === undefined).toBe(kind === 'member-lost')
    const [own] = components
    if (own) versions.set(groupId, (versions.get(groupId) ?? new Set()).add(own.codeHash))
  }
  expect([...versions.values()].filter((v) => v.size > 1)).toEqual([])
}

async function everythingIn(dir: string): Promise<string> {
  const files = await readdir(dir, { recursive: true, withFileTypes: true })
  const texts = files.filter((f) => f.isFile()).map((f) => readFile(join(f.parentPath, f.name), 'latin1'))
  return (await Promise.all(texts)).join('\n')
}

test('a composite: its parts and their weights stand in the rewards, the task stays what is evaluated', async () => {
  const { config, dir } = await written(
    'composite',
    {
      strict: { kind: 'math' },
      brief: {
        kind: 'composite',
        parts: [
          { verifier: 'strict', weight: 2 },
          { verifier: 'sum', weight: 0.5 },
        ],
        length: { free: 4, full: 20, most: 0.5 },
      },
    },
    { verifier: 'brief', steps: 3, prompts: 4, groupSize: 4 },
  )
  const ended = await cascade(['run', config, '--dir', dir])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  const all = await rewardsOf(dir)
  const tokens = new Map(
    (await read(dir, rollouts('math'))).map((r: Rollout) => [r.id, r.responseTokens.length]),
  )
  expect(all.length).toBeGreaterThanOrEqual(48)
  sound(all)
  for (const { id, kind, score, rewards: components } of all) {
    expect(kind).toBe('reward')
    const [whole, strict, sum] = components
    expect([whole, strict, sum].map((c) => [c!.verifier, c!.weight])).toEqual([
      ['brief', 1],
      ['strict', 2],
      ['sum', 0.5],
    ])
    const penalty = 0.5 * Math.min(1, Math.max(0, (tokens.get(id)! - 4) / 16))
    expect(score).toBeCloseTo(2 * strict!.score! + 0.5 * sum!.score! - penalty, 12)
    expect(whole!.score).toBe(score)
  }
  expect(new Set(all.map((r) => r.score)).size).toBeGreaterThan(1)
  const held = await read(dir, evaluations)
  expect(held.map((e) => e.metric)).toEqual(held.map(() => 'greedy-accuracy'))
  for (const name of ['brief', 'sum']) {
    const { stdout } = await cascade(['verifiers', 'ls', dir, '--json'])
    expect(stdout).toContain(`{"verifier":"${name}",`)
  }
}, 120_000)

test('a reward server that goes down in the middle: what it cannot judge is never a zero', async () => {
  let asked = 0
  let refused = 0
  let downUntil = Number.POSITIVE_INFINITY
  const tokens = new Set<string | undefined>()
  const server = createServer((request, response) => {
    tokens.add(request.headers.authorization)
    request.resume().on('end', () => {
      asked += 1
      if (asked === 25) downUntil = Date.now() + 700
      if (asked >= 25 && Date.now() < downUntil) {
        refused += 1
        response.writeHead(503).end('restarting')
      } else response.end(JSON.stringify({ score: 0.25 + (asked % 4) / 8, seen: asked }))
    })
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  try {
    const { config, dir } = await written(
      'remote',
      {
        server: {
          kind: 'remote',
          url,
          version: 'r7',
          headersEnv: { authorization: 'REWARD_TOKEN' },
          attempts: 2,
          backoffMs: 20,
          concurrency: 8,
        },
      },
      { verifier: 'server', steps: 3, prompts: 8, groupSize: 4, maxErrorShare: 1 },
    )
    const ended = await cascade(['run', config, '--dir', dir, '--json'], { REWARD_TOKEN: 'Bearer hunter2' })
    expect(ended).toMatchObject({ code: 0, stderr: '' })
    expect(refused).toBeGreaterThan(0)
    const all = await rewardsOf(dir)
    sound(all)
    expect(all.length).toBeGreaterThanOrEqual(96)
    for (const {
      kind,
      score,
      rewards: [own],
    } of all) {
      expect(own).toMatchObject({ verifier: 'server', version: 'r7' })
      if (kind === 'reward') expect(score).toBeGreaterThanOrEqual(0.25)
    }
    expect(all.filter((r) => r.kind === 'reward').length).toBeGreaterThan(48)
    expect([...tokens]).toEqual(['Bearer hunter2'])
    expect(ended.stdout).not.toContain('hunter2')
    expect(await everythingIn(dir)).not.toContain('hunter2')
  } finally {
    server.close()
    server.closeAllConnections()
  }
}, 120_000)

const moody = (version: string) => `
export const version = '${version}'
export default ({ every }) => (response) => {
  const n = response.charCodeAt(0) || 0
  if (n % every === 0) for (;;);
  return 0.25 + (n % 4) / 8
}
`

test('a module that hangs at times: those are lost, never zeros; a run keeps the code that it began with', async () => {
  const { config, dir, folder } = await written(
    'file',
    { mine: { kind: 'file', file: './moody.mjs', options: { every: 5 }, wallMs: 150, concurrency: 2 } },
    { verifier: 'mine', steps: 4, prompts: 4, groupSize: 4, maxErrorShare: 1 },
  )
  await writeFile(join(folder, 'moody.mjs'), moody('m1'))
  const crashed = await cascade(['run', config, '--dir', dir], { CASCADE_CRASH_AT: 'commit:after@40' })
  expect(crashed.signal).toBe('SIGKILL')
  const before = await rewardsOf(dir)
  await writeFile(join(folder, 'moody.mjs'), moody('m2'))
  const resumed = await cascade(['run', '--resume', '--dir', dir])
  expect(resumed).toMatchObject({ code: 0, stderr: '' })
  const all = await rewardsOf(dir)
  expect(all.length).toBeGreaterThan(before.length)
  sound(all)
  const lost = all.filter((r) => r.kind === 'member-lost')
  expect(lost.length).toBeGreaterThan(0)
  expect(new Set(lost.map((r) => r.reason))).toEqual(new Set(['VERIFIER_TIMEOUT']))
  const components = all.map((r) => r.rewards[0]!)
  expect(new Set(components.map((c) => `${c.verifier}@${c.version}`))).toEqual(new Set(['mine@m1']))
  expect(new Set(components.map((c) => c.codeHash)).size).toBe(1)
  expect(Math.min(...all.flatMap((r) => (r.score === undefined ? [] : [r.score])))).toBeGreaterThanOrEqual(
    0.25,
  )
  await rm(join(folder, 'moody.mjs'))
  const listed = await cascade(['verifiers', 'ls', dir, '--json'])
  expect(listed.stdout).toContain(`{"verifier":"mine","version":"m1","codeHash":"${components[0]!.codeHash}"`)
}, 120_000)

test('a version of a configured verifier is staged and promoted while the run goes on, and stays', async () => {
  const { config, dir, folder } = await written(
    'swap',
    { mine: { kind: 'file', file: './first.mjs' } },
    { verifier: 'mine', steps: 4_000, prompts: 2, groupSize: 4 },
  )
  const judging = (version: string) =>
    `export const version = '${version}'\nexport const judge = (r) => (r.charCodeAt(0) || 0) % 3\n`
  await writeFile(join(folder, 'first.mjs'), judging('first'))
  await writeFile(join(folder, 'second.mjs'), judging('second'))
  const run = start(['run', config, '--dir', dir, '--json'])
  try {
    await run.says('"event":"step","stage":"rl"')
    for (const args of [
      ['stage', dir, join(folder, 'second.mjs'), '--as', 'mine'],
      ['promote', dir],
    ]) {
      expect(await cascade(['verifiers', ...args])).toMatchObject({ code: 0, stderr: '' })
    }
    const listed = (await cascade(['verifiers', 'ls', dir, '--json'])).stdout.split('\n').flatMap((line) => {
      const row = line === '' ? undefined : (JSON.parse(line) as Record<string, string>)
      return row?.verifier === 'mine' ? [[row.version, row.state]] : []
    })
    expect(listed).toEqual([
      ['first', 'earlier'],
      ['second', 'active'],
    ])
    for (;;) {
      const all = await rewardsOf(dir)
      if (all.some((r) => r.rewards[0]?.version === 'second')) break
    }
    expect((await cascade(['control', dir, 'stop'])).code).toBe(0)
    expect((await run.ended).code).toBe(130)
  } finally {
    run.kill('SIGKILL')
  }
  const before = (await rewardsOf(dir)).length
  const resumed = start(['run', '--resume', '--dir', dir, '--json'])
  try {
    await resumed.says('"event":"step","stage":"rl"')
    expect((await cascade(['control', dir, 'stop'])).code).toBe(0)
    expect((await resumed.ended).code).toBe(130)
  } finally {
    resumed.kill('SIGKILL')
  }
  const all = await rewardsOf(dir)
  sound(all)
  const later = all.slice(before)
  expect(later.length).toBeGreaterThan(0)
  expect(new Set(later.map((r) => r.rewards[0]!.version))).toEqual(new Set(['second']))
}, 120_000)
