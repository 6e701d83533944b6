import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  advantages,
  type BatchClosed,
  type Checkpoint,
  evaluations,
  type Reward,
  type Rollout,
  rewards,
  rollouts,
  updates,
} from '../../../../topics/index.ts'
import { invoke, jsonLines } from '../../invoke.ts'
import { recordsOf, workspace, writeConfig } from '../../run/harness.ts'
import { shortRun, warmUp } from '../../run/short-run.ts'
import { committed, stripped, valuesOf } from '../stripped.ts'
import {
  closedOf,
  hasUpdate,
  sampledRun,
  spreadOf,
  type Trained,
  trainArguments,
  trained,
  verifierOf,
} from './training-run.ts'

let space: Awaited<ReturnType<typeof workspace>>
let run: string
let before: Record<string, string[]>
let saved: Checkpoint[]
let closed: BatchClosed[]
let judged: Reward[]
/** Of a verifier that gives every group a signal: the run trained with its rewards. */
let spread: Trained

beforeAll(async () => {
  space = await workspace()
  run = await sampledRun(space.dir, shortRun(await warmUp(space.dir)))
  before = await recordsOf(run)
  saved = await committed(run)
  closed = await closedOf(run)
  judged = await valuesOf(run, rewards('math'))
  spread = await again(await table(spreadOf(judged)))
}, 120_000)

afterAll(() => space[Symbol.asyncDispose]())

const ofStage = (stage: string) => saved.find((c) => c.stage === stage && c.reason !== 'interval')!
const stepsOf = (stage: string) => closed.filter((c) => c.stage === stage)
const table = (scores: Record<string, number>) => verifierOf(space.dir, scores)

/** As they were, but for these groups, whose members get other rewards in turn. */
const recordedBut = (groups: Record<string, readonly number[]>): Record<string, number> =>
  Object.fromEntries(judged.map((r) => [r.id, groups[r.groupId]?.[r.index] ?? r.score ?? 0]))

const recorded = (dir: string, ...more: string[]) =>
  invoke(['replay', dir, '--topic', 'rollouts.math', '--mode', 'recorded', '--apply', '--json', ...more])

let count = 0
const fresh = () => join(space.dir, `again-${++count}`)
const again = (verifier: string, ...more: string[]) => trained({ run, verifier, to: fresh(), more })
/** Of the command that replays this run, or another one. */
const words = (more: readonly string[], of: { run?: string; to?: string; verifier?: string } = {}) =>
  trainArguments({ run, verifier: 'sum', to: fresh(), more, ...of })

const byVersion = (all: readonly Checkpoint[]) =>
  Object.fromEntries(all.map((c) => [c.version, c.weightsHash]))

describe('with rewards that are the same', () => {
  test('every step has the weights of the run, bit for bit, and none needs a ratio to another policy', async () => {
    const math = stepsOf('math')
    expect(math.filter(hasUpdate).length).toBeGreaterThan(1)
    const same = await again('sum')
    const own = byVersion(saved.filter((c) => c.stage === 'math' || c.stage === 'instruct'))
    const versions = [...new Set(same.saved.map((c) => c.version))]
    // The start, the middle and the end: all that the stage has saved.
    expect(versions).toEqual([math[0]!.baseVersion, ofStage('math').version - 1, ofStage('math').version])
    for (const version of versions) expect(byVersion(same.saved)[version]).toBe(own[version])
    expect(same.result).toMatchObject({ weights: ofStage('math').weightsHash, offPolicy: 0 })
    expect(same.updates.map((u) => [u.staleness, u.behaviourKl])).toEqual(
      math.filter(hasUpdate).map(() => [0, undefined]),
    )
    const recorded = (await valuesOf(run, updates)).filter((u) => u.stage === 'math')
    expect(same.updates.map((u) => [u.id, u.loss, u.gradNorm])).toEqual(
      recorded.map((u) => [u.id, u.loss, u.gradNorm]),
    )
    expect(same.steps.map((s) => s.same)).toEqual(math.map(() => true))
  })

  test('also where the range begins in the middle of the stage, with its KL reference and its moments', async () => {
    const last = stepsOf('math').findLast(hasUpdate)!
    const same = await again('sum', '--from', `step:math/${last.step}`)
    expect(same.result.weights).toBe(ofStage('math').weightsHash)
    // It has all that its own recorded replay needs.
    const rebuilt = await recorded(same.to)
    expect({ code: rebuilt.code, last: jsonLines(rebuilt.out).at(-1) }).toMatchObject({
      code: 0,
      last: { equal: true, weights: ofStage('math').weightsHash },
    })
    // Where the checkpoint at the range's begin is gone, the steps from an earlier one are rebuilt.
    const dir = join(space.dir, 'without-interval')
    await cp(run, dir, { recursive: true })
    const middle = saved.find((c) => c.stage === 'math' && c.reason === 'interval')!
    await rm(join(dir, middle.path), { recursive: true })
    const args = words(['--apply', '--json', '--from', `step:math/${last.step}`], { run: dir })
    const { code, out } = await invoke(args)
    expect({ code, last: jsonLines(out).at(-1) }).toMatchObject({
      code: 0,
      last: { event: 'trained', weights: ofStage('math').weightsHash },
    })
  })
})

test('on another numeric profile the same rewards do not make the same weights: what follows is off-policy', async () => {
  const dir = join(space.dir, 'elsewhere')
  await cp(run, dir, { recursive: true })
  const manifest = JSON.parse(await readFile(join(dir, 'run.json'), 'utf8')) as {
    profile: Record<string, unknown>
  }
  manifest.profile.cpu = 'another'
  await writeFile(join(dir, 'run.json'), JSON.stringify(manifest))
  const to = fresh()
  expect((await invoke(words(['--apply'], { run: dir, to }))).code).toBe(0)
  expect((await valuesOf(to, updates)).map((u) => u.staleness)).toEqual([0, 1])
  const own = JSON.parse(await readFile(join(to, 'run.json'), 'utf8')) as { profile: Record<string, unknown> }
  expect(own.profile.cpu).not.toBe('another')
})

describe('with other rewards', () => {
  test('the first step has the weights of a recorded replay of a run with those rewards', async () => {
    const first = stepsOf('math').find(hasUpdate)!
    const groups = Object.fromEntries(first.groups.map((g) => [g.groupId, [0, 0.25, 1, 0.5]]))
    const scores = recordedBut(groups)
    const {
      saved: own,
      updates: own1,
      result,
    } = await again(await table(scores), '--from', `step:math/${first.step}`)
    expect(own1[0]).toMatchObject({ staleness: 0, step: first.step })
    expect(result.weights).not.toBe(ofStage('math').weightsHash)
    const altered = join(space.dir, 'altered')
    await stripped(run, altered, ofStage('instruct'), (topic, value) => {
      const reward = value as Reward
      return topic === 'rewards.math' && reward.kind === 'reward'
        ? { ...reward, score: scores[reward.id]! }
        : value
    })
    const { code, out } = await recorded(altered, '--inexact', '--to', `step:math/${first.step}`)
    expect(code).toBe(0)
    const [step] = jsonLines(out)
    expect(step).toMatchObject({ event: 'step', version: first.version })
    expect(byVersion(own)[first.version]).toBe(step!.weights)
    expect(step!.weights).not.toBe(byVersion(saved)[first.version])
  })

  test('later steps are trained on as off-policy, with ratios to the recorded log-probabilities', async () => {
    const math = stepsOf('math')
    const { to, closed: own, updates: applied } = spread
    expect(own.map((c) => c.offPolicy?.staleness)).toEqual([undefined, 1, 2])
    expect(own.map((c) => [c.step, c.baseVersion, c.version])).toEqual(
      math.map((c, i) => [c.step, math[0]!.baseVersion + i, math[0]!.baseVersion + i + 1]),
    )
    // The bounds of the stage.
    expect(own[1]!.offPolicy).toMatchObject({ clipLow: 0.2, clipHigh: 0.3 })
    expect(applied.map((u) => u.staleness)).toEqual([0, 1, 2])
    for (const u of applied.slice(1)) {
      expect(u.behaviourKl).toBeGreaterThan(0)
      expect(u.ratioMax).toBeGreaterThan(1.01)
      expect(u.ratioMean).toBeGreaterThan(0.5)
      expect(u.ratioMean).toBeLessThan(2)
    }
    // It is a run like any other: its own recorded replay rebuilds it.
    const rebuilt = await recorded(to)
    expect({ code: rebuilt.code, last: jsonLines(rebuilt.out).at(-1) }).toMatchObject({
      code: 0,
      last: { equal: true },
    })
  })

  test('groups without a signal that have one now are used, those that lost theirs are not', async () => {
    const used = new Set(stepsOf('math').flatMap((c) => c.groups.map((g) => g.groupId)))
    const outcomes = await valuesOf(run, advantages('math'))
    const flat = outcomes.find((o) => o.outcome === 'filtered' && o.step === 1)!
    const kept = [...used][0]!
    const scores = recordedBut({ [flat.groupId]: [1, 0, 0, 0], [kept]: [1, 1, 1, 1] })
    const { closed: own, steps } = await again(await table(scores))
    const now = new Set(own.flatMap((c) => c.groups.map((g) => g.groupId)))
    expect(now).toEqual(new Set([...used, flat.groupId].filter((id) => id !== kept)))
    // The run closed its first step without an update.
    expect(hasUpdate(stepsOf('math')[0]!)).toBe(false)
    expect(own[0]).toMatchObject({ step: 1, opens: true })
    expect(steps[0]).toMatchObject({ updated: true, groupsBefore: 0, groups: 1, same: false })
  })

  test('of more groups with a signal than a step takes, it takes the first admitted', async () => {
    const instruct = await valuesOf(run, rewards('instruction'))
    const scores = Object.fromEntries(instruct.map((r) => [r.id, r.index]))
    const { closed: own, updates: applied } = await trained({
      run,
      to: fresh(),
      domain: 'instruction',
      verifier: await table(scores),
    })
    const admitted = new Map<number, number[]>()
    for (const r of instruct) admitted.set(r.step, [...(admitted.get(r.step) ?? []), r.admission])
    expect(Math.max(...[...admitted.values()].map((a) => new Set(a).size))).toBeGreaterThan(8)
    for (const c of own) {
      const all = [...new Set(admitted.get(c.step))].sort((a, b) => a - b)
      expect(c.groups.map((g) => g.admission)).toEqual(all.slice(0, 8))
      expect(c.counts.kept).toBe(all.length)
    }
    // The stage samples on-policy and has no bounds of its own.
    expect(own[1]!.offPolicy).toMatchObject({ staleness: 1, clipLow: 0.2, clipHigh: 0.2 })
    expect(applied).toHaveLength(own.length)
  })

  test('from a later checkpoint every step is off-policy', async () => {
    const { updates: applied, saved: own } = await again('sum', '--from-checkpoint', 'math')
    const { version, weightsHash } = ofStage('math')
    expect(own[0]).toMatchObject({ version, weightsHash, stage: 'start' })
    for (const u of applied) expect(u.staleness).toBeGreaterThan(0)
  })
})

describe('the run that it writes', () => {
  let to: string
  let path: string

  beforeAll(() => {
    to = spread.to
    path = join(to, spread.result.path)
  })

  test('has scores of every domain before and after, and a report', async () => {
    const scored = await valuesOf(to, evaluations)
    expect(scored.map((e) => e.id).sort()).toEqual([
      'math/instruction',
      'math/math',
      'start/instruction',
      'start/math',
    ])
    const ofRun = (await valuesOf(run, evaluations)).filter((e) => e.stage === 'instruct')
    for (const e of scored.filter((s) => s.stage === 'start')) {
      expect(e.verdicts).toEqual(ofRun.find((r) => r.domain === e.domain)!.verdicts)
    }
    const { code, out } = await invoke(['report', to, '--json'])
    const [report] = jsonLines(out)
    expect({ code, report }).toMatchObject({
      code: 0,
      report: { status: 'done', stages: [{ name: 'math', steps: 3, planned: 3, status: 'done' }] },
    })
    expect(existsSync(join(to, 'report.html'))).toBe(true)
  })

  test.each(['start', 'math', 'latest'])('can be scored at %s', async (name) => {
    const { code, out } = await invoke(['eval', to, '--checkpoint', name, '--prompts', '8', '--json'])
    const [scores] = jsonLines(out)
    const stage = name === 'latest' ? 'math' : name
    const there = (await valuesOf(to, evaluations)).find((e) => e.id === `${stage}/math`)!
    expect({ code, scores }).toMatchObject({
      code: 0,
      scores: { scores: { math: { passed: there.passed } } },
    })
  })

  test('is not what `run --resume` goes on with, but what a new run starts from', async () => {
    const refused = await invoke(['run', '--resume', '--dir', to])
    expect(refused.code).toBe(2)
    expect(refused.err).toContain('model.init trains on from its checkpoints')
    const config = shortRun(path)
    const sub = join(space.dir, 'on')
    await mkdir(sub)
    const file = await writeConfig(sub, { ...config, stages: [{ ...config.stages[2]!, steps: 1 }] })
    const next = join(sub, 'next')
    const ended = await invoke(['run', file, '--dir', next, '--seed', '4'], { cwd: sub })
    expect(ended).toMatchObject({ code: 0 })
    const [first] = await committed(next)
    expect(first).toMatchObject({ reason: 'initial', weightsHash: (await committed(to)).at(-1)!.weightsHash })
    const sampled = await valuesOf(next, rollouts('math'))
    const old = new Set(((await valuesOf(run, rollouts('math'))) as Rollout[]).map((r) => r.id))
    expect(sampled.length).toBeGreaterThan(0)
    expect(sampled.some((r) => old.has(r.id))).toBe(false)
  })
})

test('judged first and looked at, it is trained on without judging it again', async () => {
  const to = fresh()
  const args = words(['--apply', '--json'], { to })
  expect((await invoke(args.filter((a) => a !== '--train'))).code).toBe(0)
  const { code, out } = await invoke(args)
  expect(code).toBe(0)
  const events = jsonLines(out)
  expect(events.map((l) => l.event)).not.toContain('report')
  expect(events.at(-1)).toMatchObject({ event: 'trained', weights: ofStage('math').weightsHash })
})

test('without --apply it says steps, batches, start and seconds, and writes nothing', async () => {
  const to = fresh()
  const { code, out } = await invoke(words(['--json'], { to }))
  expect(code).toBe(0)
  const [plan] = jsonLines(out)
  expect(plan).toMatchObject({
    event: 'plan',
    training: {
      stage: 'math',
      checkpoint: ofStage('instruct').id,
      version: ofStage('instruct').version,
      steps: 3,
      batches: stepsOf('math').filter(hasUpdate).length,
      clip: { clipLow: 0.2, clipHigh: 0.3 },
    },
  })
  expect((plan as { training: { seconds: number } }).training.seconds).toBeGreaterThanOrEqual(0)
  const human = await invoke(words([], { to }))
  expect(human.out).toContain(`would start    from checkpoint ${ofStage('instruct').id}`)
  expect(human.out).toMatch(
    /would train {4}on 3 steps, math\/1 to math\/3; 2 of them had an update; about [\d.]+ s/,
  )
  expect(existsSync(to)).toBe(false)
})

describe('refused before anything is judged', () => {
  test.each([
    [['--from', '8'], /begins at offset 8, within step math\/1: --from step:math\/1 has all of it/],
    [['--to', '40'], /ends at offset 40, within step math\/2: --to step:math\/2 has all of it/],
    [['--verdict', 'unparsable'], /--verdict: expected without --train, as a step is trained on with all/],
    [['--judged-by', 'sum'], /--judged-by: expected without --train/],
    [['--from-checkpoint', 'nothing'], /--from-checkpoint: expected latest, start, sft, .*, got nothing/],
  ])('%j', async (more, message) => {
    const to = fresh()
    const { code, err } = await invoke(words(['--apply', ...more], { to }))
    expect(code).toBeGreaterThan(0)
    expect(err).toMatch(message)
    expect(existsSync(to)).toBe(false)
  })

  test('a checkpoint whose files are gone is named', async () => {
    const dir = join(space.dir, 'gone')
    await stripped(run, dir, ofStage('math'))
    const args = words(['--apply'], { run: dir })
    const none = await invoke(args)
    expect(none).toMatchObject({ code: 1 })
    expect(none.err).toMatch(
      /^error CHECKPOINT_NOT_FOUND: .*expected the files of a checkpoint of version \d+/,
    )
    const copy = join(space.dir, 'gone-one')
    await cp(run, copy, { recursive: true })
    await rm(join(copy, ofStage('sft').path), { recursive: true })
    const named = words(['--apply', '--from-checkpoint', 'sft'], { run: copy })
    const { code, err } = await invoke(named)
    expect(code).toBe(1)
    expect(err).toContain(`expected the files of checkpoint ${ofStage('sft').id}`)
  })

  test('a run that was itself trained on stored rollouts', async () => {
    const { to } = await again('sum', '--to', 'step:math/1')
    const args = words(['--apply'], { run: to })
    const { code, err } = await invoke(args)
    expect(code).toBe(2)
    expect(err).toContain('whose rollouts run has sampled: replay that one')
  })
})

test('of the run that was replayed not a record has changed', async () => {
  expect(await recordsOf(run)).toEqual(before)
  const manifest = JSON.parse(await readFile(join(run, 'run.json'), 'utf8')) as Record<string, unknown>
  expect(manifest.rescored).toBeUndefined()
})
