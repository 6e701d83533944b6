import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { logFolder } from '../../../src/cli/open-run.ts'
import { openLog } from '../../../src/log/index.ts'
import {
  type BatchClosed,
  type Checkpoint,
  control,
  type Reward,
  rewards,
  rollouts,
  updates,
} from '../../../topics/index.ts'
import { invoke, jsonLines } from '../invoke.ts'
import { cascade, workspace, writeConfig } from '../run/harness.ts'
import { shortRun, warmUp } from '../run/short-run.ts'
import { committed, stripped, valuesOf } from './stripped.ts'

let space: Awaited<ReturnType<typeof workspace>>
let run: string
let saved: Checkpoint[]
let count = 0

beforeAll(async () => {
  space = await workspace()
  run = join(space.dir, 'run')
  const config = await writeConfig(space.dir, shortRun(await warmUp(space.dir)))
  const ended = await cascade(['run', config, '--dir', run, '--deterministic', '--seed', '3', '--json'])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  saved = await committed(run)
})

afterAll(() => space[Symbol.asyncDispose]())

const ofStage = (stage: string) => saved.find((c) => c.stage === stage && c.reason !== 'interval')!

async function copyFrom(checkpoint: Checkpoint, change?: Parameters<typeof stripped>[3]): Promise<string> {
  const to = join(space.dir, `copy-${++count}`)
  await stripped(run, to, checkpoint, change)
  return to
}

const args = (dir: string, domain: string, ...more: string[]) => [
  'replay',
  dir,
  '--topic',
  `rollouts.${domain}`,
  '--mode',
  'recorded',
  ...more,
]

interface Result {
  equal: boolean | null
  weights: string
  version: number
  inexact: string[]
}

async function rebuilt(dir: string, domain: string, ...more: string[]) {
  const ended = await invoke(args(dir, domain, '--apply', '--json', ...more))
  expect(ended.err).toBe('')
  const lines = jsonLines(ended.out)
  return { code: ended.code, steps: lines.slice(0, -1), result: lines.at(-1) as unknown as Result }
}

describe('from nothing but a checkpoint, prompts, rollouts, rewards and closed steps', () => {
  test.each(['instruct', 'math'] as const)(
    'the weights of %s are those of the run, bit for bit',
    async (stage) => {
      const before = stage === 'math' ? 'instruct' : 'sft'
      const dir = await copyFrom(ofStage(before))
      const domain = stage === 'math' ? 'math' : 'instruction'
      const { code, steps, result } = await rebuilt(dir, domain)
      expect({ code, equal: result.equal }).toEqual({ code: 0, equal: null })
      expect(steps.length).toBeGreaterThan(0)
      expect(result).toMatchObject({
        weights: ofStage(stage).weightsHash,
        version: ofStage(stage).version,
        inexact: [],
      })
      expect(result.weights).not.toBe(ofStage(before).weightsHash)
    },
  )

  test('where the range begins in the middle of a stage, what lies between the checkpoint and it is rebuilt as well', async () => {
    const dir = await copyFrom(ofStage('start'))
    const { result, steps } = await rebuilt(dir, 'math', '--from', 'step:math/2')
    expect(result.weights).toBe(ofStage('math').weightsHash)
    expect(steps.map((s) => s.stage)).toContain('sft')
  })

  test('a reward that was altered is named; with --inexact its hash is another', async () => {
    const trained = await trainedReward()
    const dir = await copyFrom(ofStage('instruct'), (topic, value) => {
      const reward = value as Reward
      if (topic !== 'rewards.math' || reward.id !== trained.id) return value
      return { ...reward, score: 1 - reward.score! }
    })
    const refused = await invoke(args(dir, 'math', '--apply'))
    expect(refused).toMatchObject({ code: 1, out: '' })
    expect(refused.err).toMatch(/^error STREAM_PROTOCOL: rewards\.math: group [0-9a-f]+: its rewards/)
    const { result, code } = await rebuilt(dir, 'math', '--inexact')
    expect(code).toBe(0)
    expect(result.weights).not.toBe(ofStage('math').weightsHash)
    expect(result.inexact).toEqual([`altered rewards: groups ${trained.groupId}`])
  })

  test('a rollout that was altered is named', async () => {
    const trained = await trainedReward()
    const dir = await copyFrom(ofStage('instruct'), (topic, value, offset) => {
      if (topic !== 'rollouts.math' || offset !== trained.rolloutOffset) return value
      const rollout = value as { responseTokens: Int32Array }
      return { ...rollout, responseTokens: rollout.responseTokens.map((t) => t + 1) }
    })
    const { code, err } = await invoke(args(dir, 'math', '--apply'))
    expect(code).toBe(1)
    expect(err).toContain(`rollouts.math: offset ${trained.rolloutOffset} is not rollout ${trained.id}`)
  })

  test('without the files of any checkpoint at or before its start it is refused', async () => {
    const dir = await copyFrom(ofStage('math'))
    const { code, err } = await invoke(args(dir, 'math'))
    expect(code).toBe(1)
    expect(err).toMatch(/^error CHECKPOINT_NOT_FOUND: .*expected the files of a checkpoint of version/)
  })
})

test('next to all its records the rebuilt steps equal each of them', async () => {
  const { code, steps, result } = await rebuilt(run, 'math')
  expect({ code, equal: result.equal }).toEqual({ code: 0, equal: true })
  const applied = (await valuesOf(run, updates)).filter((u) => u.stage === 'math')
  expect(steps.map((s) => s.loss)).toEqual(applied.map((u) => u.loss))
  for (const step of steps) expect(step).toMatchObject({ batchEqual: true, updateEqual: true })
  expect(steps.at(-1)).toMatchObject({ weightsEqual: true })
})

test('a range ends with the step it names, and goes on from a checkpoint in the middle of a stage', async () => {
  const [first, second] = await updatedSteps('math')
  const one = await rebuilt(run, 'math', '--from', 'stage:math', '--to', `step:math/${first!.step}`)
  expect(one.steps.map((s) => s.step)).toEqual([first!.step])
  expect(one.result.version).toBe(ofStage('instruct').version + 1)
  const middle = saved.find((c) => c.stage === 'math' && c.reason === 'interval')!
  expect(middle.version).toBe(second!.baseVersion)
  const plan = await invoke(args(run, 'math', '--from', `step:math/${second!.step}`, '--json'))
  expect(jsonLines(plan.out)).toMatchObject([{ event: 'plan', checkpoint: middle.id, before: 0, steps: 1 }])
  const rest = await rebuilt(run, 'math', '--from', `step:math/${second!.step}`)
  expect(rest.result).toMatchObject({ weights: ofStage('math').weightsHash, equal: true })
})

test('without --apply it says what it would read, and computes nothing', async () => {
  const { code, out } = await invoke(args(run, 'math'))
  expect(code).toBe(0)
  expect(out).toContain(`would read     checkpoint ${ofStage('instruct').id}`)
  const updated = await updatedSteps('math')
  expect(out).toContain(`math/${updated[0]!.step} to math/${updated.at(-1)!.step}`)
  expect(out).toContain('would write    nothing')
  expect(out).not.toContain('sha256')
})

test('another numeric profile is refused, or reported as inexact', async () => {
  const dir = await copyFrom(ofStage('instruct'))
  const file = join(dir, 'run.json')
  const manifest = JSON.parse(await readFile(file, 'utf8')) as { profile: Record<string, unknown> }
  manifest.profile.runtime = 'onnxruntime-node 0.0.1'
  await writeFile(file, JSON.stringify(manifest))
  const refused = await invoke(args(dir, 'math', '--apply'))
  expect(refused.code).toBe(1)
  expect(refused.err).toMatch(/^error PROFILE_MISMATCH: .*runtime: expected onnxruntime-node 0\.0\.1/)
  const { code, result } = await rebuilt(dir, 'math', '--inexact')
  expect(code).toBe(0)
  expect(result.inexact[0]).toContain('another numeric profile')
})

test('a range that retention has removed is refused by name', async () => {
  const dir = await copyFrom(ofStage('instruct'))
  const { name } = rollouts('math')
  {
    await using log = await openLog({ dir: logFolder(dir), mode: 'append', clock: { now: () => Date.now() } })
    const [info] = (await log.topics()).filter((t) => t.name === name)
    const removed = await log.retain([{ name, retention: { bytes: Math.floor(info!.bytes / 2) } }])
    expect(removed).toMatchObject([{ topic: name }])
    const earliest = await log.offset(name, 'earliest')
    expect(earliest).toBeGreaterThan(0)
  }
  for (const from of ['0', 'stage:math', 'step:math/1', '2020-01-01']) {
    const { code, err } = await invoke(args(dir, 'math', '--apply', '--from', from))
    expect({ from, code }).toEqual({ from, code: 1 })
    expect(err).toMatch(
      /^error LOG_OFFSET_GONE: topic rollouts\.math: .* offsets 0 to \d+, which retention has removed/,
    )
  }
})

test('an interruption ends it with 130', async () => {
  const stop = new AbortController()
  stop.abort(Object.assign(new Error('interrupted'), { name: 'CascadeError', code: 'INTERRUPTED' }))
  expect(await invoke(args(run, 'math', '--apply'), { signal: stop.signal })).toMatchObject({ code: 130 })
})

async function updatedSteps(stage: string): Promise<BatchClosed[]> {
  const all = await valuesOf(run, control)
  return all
    .filter((c) => c.type === 'batch-closed')
    .filter((c) => c.stage === stage && c.version > c.baseVersion)
}

/** A reward of a group that the stage has learnt from. */
async function trainedReward(): Promise<Reward> {
  const [closed] = await updatedSteps('math')
  const all = await valuesOf(run, rewards('math'))
  const found = all.find((r) => r.groupId === closed?.groups[0]?.groupId && r.kind === 'reward')
  if (!found) throw new Error('expected a step with a group, got none')
  return found
}
