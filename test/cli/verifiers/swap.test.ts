import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openLog } from '../../../src/log/index.ts'
import { follow } from '../../../streams/follow.ts'
import { type Reward, type Rollout, rewards, rollouts } from '../../../topics/index.ts'
import { folderOf } from '../../verifiers/swap/modules.ts'
import { cascade, type Running, start, workspace, writeConfig } from '../run/harness.ts'
import { quickRun } from '../run/quick-run.ts'

let space: Awaited<ReturnType<typeof workspace>>
let dir: string
let run: Running
let modules: string

beforeAll(async () => {
  space = await workspace()
  dir = join(space.dir, 'run')
  modules = folderOf({
    'constant.js': 'export const judge = () => 1\n',
    'even.js': 'export const version = "even"\nexport const judge = (r) => 1 - (r.length % 2)\n',
    'same.js': 'export const version = "same"\nexport const judge = (r) => (r.length % 2 === 0 ? 1 : 0)\n',
    'tiring.js':
      'export const version = "tiring"\nlet n = 0\nexport const judge = () => { n += 1; if (n > 40) throw new Error("outage"); return 1 }\n',
    'broken.js': 'throw new Error("no model here")\n',
    'failing.js':
      'export const judge = (r, t, rollout) => { if (rollout.step > 0) throw new Error("outage"); return 1 }\n',
  })
  const config = await writeConfig(
    space.dir,
    quickRun({
      sft: { steps: 250, batch: 32, lr: 4e-3 },
      rl: { steps: 4_000, patience: 4_000, prompts: 4, groupSize: 4, maxTokens: 32 },
    }),
  )
  run = start(['run', config, '--dir', dir, '--json'])
  await run.says('"event":"step","stage":"rl"')
}, 60_000)

afterAll(async () => {
  run.kill('SIGKILL')
  await run.ended
  await space[Symbol.asyncDispose]()
})

const verifiers = (...args: string[]) => cascade(['verifiers', ...args])
const json = async (...args: string[]) => {
  const { stdout, stderr, code } = await verifiers(...args, '--json')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}
const states = async () =>
  (await json('ls', dir)).filter((v) => v.verifier === 'sum').map((v) => [v.version, v.state])

async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
  }
}

test('a candidate is staged, compared, promoted and rolled back while the run goes on', async () => {
  const [staged] = await json('stage', dir, join(modules, 'even.js'), '--as', 'sum')
  expect(staged).toMatchObject({
    action: 'stage',
    name: 'sum',
    codeHash: expect.stringMatching(/^[0-9a-f]{64}$/),
  })
  const { version } = staged
  expect(await states()).toEqual([
    ['1', 'active'],
    [version, 'staged'],
  ])
  const compared = await until(async () => (await json('diff', dir)).find((d) => d.difference.groups >= 8))
  expect(compared).toMatchObject({ verifier: 'sum', errors: 0 })
  expect(compared.up).toBeGreaterThan(0)
  expect(compared.flips.interval[0]).toBeLessThanOrEqual(compared.flips.share)
  const shown = await verifiers('diff', dir)
  expect(shown.stdout).toMatch(/^sum \(math\): \w+ beside 1\n {2}rollouts +\d+, of which/)
  await json('promote', dir)
  expect(await states()).toEqual([
    ['1', 'earlier'],
    [version, 'active'],
  ])
  await run.says(`"action":"promote","verifier":"sum","version":"${version}"`)
  await json('rollback', dir)
  expect(await states()).toEqual([['1', 'active']])
  await json('stage', dir, join(modules, 'even.js'), '--as', 'sum')
  await json('promote', dir)
}, 60_000)

test('a rule promotes, or withdraws, when both have judged enough', async () => {
  await json('stage', dir, join(modules, 'same.js'), '--as', 'sum')
  await json('promote', dir, '--after', '40', '--max-flips', '2%')
  await run.says('"action":"promote","verifier":"sum","version":"same","rule":null')
  expect((await states()).at(-1)).toEqual(['same', 'active'])
  await json('stage', dir, join(modules, 'constant.js'), '--as', 'sum')
  await json('promote', dir, '--after', '40', '--max-flips', '0.02')
  await run.says('"action":"withdraw"')
  expect((await states()).at(-1)).toEqual(['same', 'active'])
}, 60_000)

test('a candidate that throws at load is refused, one that fails later is withdrawn', async () => {
  const broken = await verifiers('stage', dir, join(modules, 'broken.js'), '--as', 'sum')
  expect(broken).toMatchObject({ code: 1, stdout: '' })
  expect(broken.stderr).toMatch(/^error VERIFIER_FAILED: .*broken\.js: could not start: no model here\n$/)
  const failing = await verifiers('stage', dir, join(modules, 'failing.js'), '--as', 'sum')
  expect(failing.stderr).toMatch(/recorded rollouts end in an error: threw: outage/)
  await json('stage', dir, join(modules, 'tiring.js'), '--as', 'sum')
  await run.says('"action":"withdraw","verifier":"sum","version":"tiring"')
  expect((await json('diff', dir)).at(-1)).toMatchObject({
    candidate: { version: 'tiring' },
    fate: { action: 'withdrawn', reason: expect.stringMatching(/% errors in \d+ rollouts$/) },
  })
  expect((await states()).at(-1)).toEqual(['same', 'active'])
  for (const [args, message] of [
    [['promote', dir], /error USAGE: --verifier: expected the name of one with a staged version, got none/],
    [
      ['stage', dir, 'x.ts', '--as', 'summ'],
      /error USAGE: verifier: expected one of .*sum, wording, got summ/,
    ],
    [['promote', dir, '--max-flips', '2'], /expected a share such as 2% or 0\.02, got 2/],
    [['promote', dir, '--max-flips', '2%'], /--after: expected with --max-flips and --max-errors, got none/],
  ] as const) {
    const { code, stderr } = await verifiers(...args)
    expect(code).toBe(2)
    expect(stderr).toMatch(message)
  }
}, 60_000)

test('swaps without pause: no rollout is lost or scored twice, no group has two versions', async () => {
  for (let i = 0; i < 4; i++) {
    writeFileSync(
      join(modules, 'next.js'),
      `export const version = 'n${i}'\nexport const judge = (r) => r.length % ${i + 2} ? 0 : 1\n`,
    )
    await json('stage', dir, join(modules, 'next.js'), '--as', 'sum')
    await json('promote', dir)
  }
  const ended = await cascade(['control', dir, 'stop'])
  expect(ended.code).toBe(0)
  expect((await run.ended).code).toBe(130)
  await using log = await openLog({ dir: join(dir, 'log'), mode: 'read', clock: { now: () => 0 } })
  const all: { judged: Reward[]; sampled: Rollout[] } = { judged: [], sampled: [] }
  const { signal } = new AbortController()
  await follow(log, rewards('math'), { from: 0, until: 'end', signal }, (r) => void all.judged.push(r.value))
  await follow(
    log,
    rollouts('math'),
    { from: 0, until: 'end', signal },
    (r) => void all.sampled.push(r.value),
  )
  const ids = all.judged.map((r) => r.id)
  expect(new Set(ids).size).toBe(ids.length)
  const known = new Set(all.sampled.map((r) => r.id))
  expect(ids.filter((id) => !known.has(id))).toEqual([])
  expect(all.judged.filter((r) => r.kind !== 'reward')).toEqual([])
  const versions = new Map<string, Set<string>>()
  for (const {
    groupId,
    rewards: [component],
  } of all.judged) {
    versions.set(groupId, (versions.get(groupId) ?? new Set()).add(component!.codeHash))
  }
  expect([...versions.values()].filter((v) => v.size > 1)).toEqual([])
  const used = new Set(all.judged.map((r) => r.rewards[0]!.version))
  for (const version of ['1', 'same', 'n0', 'n1', 'n2']) expect(used).toContain(version)
}, 60_000)

test('a run that is resumed judges with what was promoted', async () => {
  const resumed = start(['run', '--resume', '--dir', dir, '--json'])
  await resumed.says('"event":"step","stage":"rl"')
  expect((await states()).at(-1)).toEqual(['n3', 'active'])
  expect((await cascade(['control', dir, 'stop'])).code).toBe(0)
  expect((await resumed.ended).code).toBe(130)
  expect((await verifiers('rollback', dir)).stderr).toMatch(/^error RUN_NOT_RUNNING/)
}, 60_000)
