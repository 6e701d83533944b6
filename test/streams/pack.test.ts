import { beforeEach, describe, expect, test } from 'vitest'
import { hashOutcome } from '../../streams/group-id.ts'
import { hashRollout } from '../../streams/hash-rollout.ts'
import { permuteRewards } from '../../streams/permute-rewards.ts'
import type { Append } from '../../streams/ports.ts'
import {
  advantages,
  type BatchClosed,
  control,
  type GroupOutcome,
  type RlStage,
  rollouts,
} from '../../topics/index.ts'
import { rollout } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'
import { packed, rowsOf } from './packing.ts'
import { closed, controlWriter, outcomeOf, rlStage } from './stages.ts'

let log: MemoryLog
let say: ReturnType<typeof controlWriter>
beforeEach(() => {
  log = new MemoryLog()
  say = controlWriter()
})

const append = (...list: { topic: unknown; value: unknown }[]) =>
  log.commit({ append: list as Append[], settle: [] })
const tell = (body: Parameters<typeof say>[0]) => append({ topic: control, value: say(body) })

/** A group in the log, its rollouts and its outcome; member i answers with i + 1 tokens. */
async function group(
  stage: RlStage,
  admission: number,
  rewards: readonly (number | undefined)[],
  truncated: readonly number[] = [],
  policyVersion = 3,
  mismatch?: readonly number[],
): Promise<{ outcome: GroupOutcome; listed: BatchClosed['groups'][number] }> {
  const groupId = `g${admission}`
  const responses = rewards.map((_, index) => {
    const responseTokens = Int32Array.from({ length: index + 1 }, (_, t) => 10 * admission + t + 1)
    return rollout({
      groupId,
      groupSize: rewards.length,
      index,
      id: `${groupId}:${index}`,
      admission,
      policyVersion,
      responseTokens,
      responseLogprobs: Float32Array.from(responseTokens, (t) => -t / 4),
      // The second token of each is an environment's.
      lossMask: Uint8Array.from(responseTokens, (_, t) => (t === 1 ? 0 : 1)),
      ...(mismatch ? { mismatch: mismatch[index]! } : {}),
    })
  })
  const { offsets } = await append(...responses.map((value) => ({ topic: rollouts('math'), value })))
  const made = outcomeOf(stage, { admission, groupId, policyVersion }, rewards, truncated)
  const outcome = {
    ...made,
    members: made.members.map((m, i) => ({
      ...m,
      rolloutOffset: offsets[i]!,
      rolloutHash: hashRollout(responses[i]!),
    })),
  }
  const { offsets: places } = await append({ topic: advantages('math'), value: outcome })
  const listed = { groupId, admission, outcomeOffset: places[0]!, hash: hashOutcome(outcome) }
  return { outcome, listed }
}

const step = (groups: BatchClosed['groups'], over: Partial<BatchClosed> = {}) =>
  tell(closed({ step: 1, baseVersion: 3, version: 4, groups, ...over }))

describe('a step of groups', () => {
  test('trains every member with an advantage on its own tokens, weighted over the tokens of the batch', async () => {
    const stage = rlStage({ groupSize: 3 })
    const a = await group(stage, 0, [1, 0, 0])
    const b = await group(stage, 1, [0, undefined, 1])
    await step([a.listed, b.listed])
    const [batch] = await packed(log, stage)
    expect(batch).toMatchObject({
      id: 'math/1',
      kind: 'batch',
      baseVersion: 3,
      version: 4,
      members: ['g0', 'g1'],
    })
    // Trained tokens of members: 1, 1, 2 and 1, -, 2.
    const total = 7
    const expected = [a, b].flatMap(({ outcome }, g) =>
      outcome.members.flatMap((m) =>
        m.advantage === undefined
          ? []
          : [
              {
                tokens: [1, 2, 3, ...Array.from({ length: m.index + 1 }, (_, t) => 10 * g + t + 1)],
                mask: [0, 0, 0, 1, 0, 1].slice(0, 4 + m.index),
                weight: Math.fround(m.advantage / total),
                old: undefined,
              },
            ],
      ),
    )
    const byTokens = (x: { tokens: number[] }, y: { tokens: number[] }) =>
      `${x.tokens}` < `${y.tokens}` ? -1 : 1
    expect(rowsOf(batch!).sort(byTokens)).toEqual(expected.sort(byTokens))
  })

  test('off-policy it takes rollouts of other versions, with their log-probabilities and the bounds of the step', async () => {
    const stage = rlStage({})
    const { listed } = await group(stage, 0, [0, 1], [], 1)
    await step([listed], { offPolicy: { staleness: 2, clipLow: 0.2, clipHigh: 0.25 } })
    const [batch] = await packed(log, stage)
    expect(rowsOf(batch!).every((r) => r.old !== undefined)).toBe(true)
    expect(batch).toMatchObject({ staleness: 2, options: { clipLow: 0.2, clipHigh: 0.25 } })
    // Those bounds are all of them, also where the stage has others.
    log = new MemoryLog()
    say = controlWriter()
    const clipping = rlStage({ clipLow: 0.1, clipHigh: 0.3 })
    const again = await group(clipping, 0, [0, 1], [], 1)
    await step([again.listed], { offPolicy: { staleness: 2, clipHigh: 0.25 } })
    const [other] = await packed(log, clipping)
    expect(other!.options).toMatchObject({ clipHigh: 0.25 })
    expect(other!.options).not.toHaveProperty('clipLow')
  })

  test('with clipping the log-probabilities that were sampled with go along', async () => {
    const stage = rlStage({ clipHigh: 0.28 })
    const { listed } = await group(stage, 0, [1, 0])
    await step([listed])
    const [batch] = await packed(log, stage)
    expect(rowsOf(batch!).map((r) => r.old)).toEqual([
      [0, 0, 0, -0.25, -0.5],
      [0, 0, 0, -0.25],
    ])
    expect(batch!.options).toMatchObject({ clipHigh: 0.28 })
    expect(batch!.options).not.toHaveProperty('clipLow')
  })

  test.each([
    ['mask', 'kept', 2],
    ['skip', 'kept', 2],
    ['score', 'kept', 3],
    ['zero', 'kept', 3],
  ] as const)('overlong %s: a response that was cut off', async (overlong, outcome, rows) => {
    const stage = rlStage({ groupSize: 3, overlong })
    const made = await group(stage, 0, [1, 0, 1], [2])
    expect(made.outcome.outcome).toBe(outcome)
    await step([made.listed])
    const [batch] = await packed(log, stage)
    expect(rowsOf(batch!)).toHaveLength(rows)
  })

  test('keeps the order of the step, says what became of the others, and takes its means from there', async () => {
    const stage = rlStage()
    const late = await group(stage, 5, [1, 0])
    await group(stage, 3, [1, 1])
    const early = await group(stage, 2, [0, 1])
    const counts = { admitted: 5, kept: 3, filtered: 1, lost: 1 }
    await step([early.listed, late.listed], { counts, stats: { reward: 0.625, truncated: 0.5 } })
    const [batch] = await packed(log, stage)
    expect(batch!.members).toEqual(['g2', 'g5'])
    expect(batch!.stats).toEqual({ ...counts, groups: 2, reward: 0.625, truncated: 0.5 })
  })

  test('the mean mismatch of what was sampled, where top-p or top-k brings one', async () => {
    const stage = rlStage({ topP: 0.9 })
    const { listed } = await group(stage, 0, [1, 0], [], 3, [0.25, 0.75])
    await step([listed])
    const [batch] = await packed(log, stage)
    expect(batch!.stats.mismatch).toBeCloseTo(0.5)
  })

  test('the control arm trains the same tokens with rewards of others', async () => {
    const stage = rlStage({ groupSize: 3, permuteRewards: true })
    const made = [
      await group(stage, 0, [1, 0, 0]),
      await group(stage, 1, [0, 1, 1]),
      await group(stage, 2, [0, 0, 1]),
    ]
    await step(made.map((m) => m.listed))
    const [batch] = await packed(log, stage)
    const dealt = permuteRewards(
      made.map((m) => m.outcome),
      stage,
      '7/math/1',
    )
    const trained = dealt.flatMap((o) => o.members.filter((m) => m.fate === 'trained'))
    // A member of index i has i + 1 tokens, of which the second is not trained.
    const total = trained.reduce((n, m) => n + (m.index === 0 ? 1 : m.index), 0)
    expect(
      rowsOf(batch!)
        .map((r) => r.weight)
        .sort(),
    ).toEqual(trained.map((m) => Math.fround(m.advantage! / total)).sort())
    expect(trained.map((m) => m.reward)).not.toEqual(
      made.flatMap((m) => m.outcome.members.map((x) => x.reward)),
    )
  })

  test('the options of the stage and the rate of the step', async () => {
    const stage = rlStage({
      steps: 4,
      schedule: 'linear',
      lr: 0.4,
      klCoef: 0.1,
      weightDecay: 0.01,
      maxGradNorm: 2,
      temperature: 0.6,
    })
    const { listed } = await group(stage, 0, [1, 0])
    await step([listed], { step: 3 })
    const [batch] = await packed(log, stage)
    const { betas, eps } = stage
    const given = { betas, eps, weightDecay: 0.01, maxGradNorm: 2, temperature: 0.6, klCoef: 0.1 }
    expect(batch!.options).toEqual({ ...given, lr: 0.4 * 0.5, objective: 'policy' })
  })

  test('what was set for the step takes the place of what the stage says', async () => {
    const stage = rlStage({ steps: 4, schedule: 'linear', lr: 0.4 })
    const { listed } = await group(stage, 0, [1, 0])
    await step([listed], { step: 3, settings: { lr: 0.2, temperature: 0.5, maxGradNorm: 3 } })
    const [batch] = await packed(log, stage)
    expect(batch!.options).toMatchObject({ lr: 0.2 * 0.5, temperature: 0.5, maxGradNorm: 3 })
  })

  test('log-probabilities without the temperature are trained without it', async () => {
    const stage = rlStage({ temperature: 0.6, logprobsMode: 'raw' })
    const { listed } = await group(stage, 0, [1, 0])
    await step([listed])
    expect((await packed(log, stage))[0]!.options!.temperature).toBe(1)
  })

  test.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
  ])('opens the stage %s, resetOptimizer %s: moments afresh %s', async (opens, resetOptimizer, expected) => {
    const stage = rlStage({ resetOptimizer })
    const { listed } = await group(stage, 0, [1, 0])
    await step([listed], { opens })
    expect((await packed(log, stage))[0]!.resetOptimizer).toBe(expected)
  })

  test('asks for a checkpoint every so many steps, but for the last one’s, which the flush brings', async () => {
    const stage = rlStage({ steps: 6, checkpointEvery: 2 })
    const { listed } = await group(stage, 0, [1, 0])
    for (let n = 1; n <= 6; n++) await step([listed], { step: n })
    expect((await packed(log, stage)).map((b) => b.checkpoint)).toEqual([
      false,
      true,
      false,
      true,
      false,
      false,
    ])
  })
})

describe('what is not a batch', () => {
  test('a step without an update makes none; a drain makes a flush; the rest nothing', async () => {
    const stage = rlStage()
    await tell({ type: 'stage-begin', stage: 'math', index: 0, version: 3 })
    await step([], { version: 3 })
    await tell({ type: 'command', command: 'pause', id: 'p' })
    await tell({ type: 'stage-drain', stage: 'math', steps: 1, version: 3 })
    await tell({ type: 'run-end', version: 3 })
    const batches = await packed(log, stage)
    expect(batches).toMatchObject([
      {
        id: 'math/flush',
        kind: 'flush',
        step: 1,
        baseVersion: 3,
        version: 3,
        checkpoint: true,
        microBatches: [],
      },
    ])
    expect(await log.position('pack', 'control')).toEqual({ floor: 5, beyond: [] })
  })

  test('a record of a coordinator that was replaced is settled and makes nothing', async () => {
    const stage = rlStage()
    const { listed } = await group(stage, 0, [1, 0])
    const old = say(closed({ baseVersion: 3, version: 4, groups: [listed] }))
    const newer = controlWriter(2)
    await append({
      topic: control,
      value: newer({ type: 'stage-begin', stage: 'math', index: 0, version: 3 }),
    })
    await append({ topic: control, value: old })
    expect(await packed(log, stage)).toEqual([])
    expect(await log.position('pack', 'control')).toEqual({ floor: 2, beyond: [] })
  })

  test('it goes on where it was', async () => {
    const stage = rlStage()
    const { listed } = await group(stage, 0, [1, 0])
    await step([listed])
    await packed(log, stage)
    await step([listed], { step: 2 })
    expect((await packed(log, stage)).map((b) => b.id)).toEqual(['math/1', 'math/2'])
  })
})

describe('a log that is not what the step closed with is refused', () => {
  const stage = rlStage()

  test('another group at the offset, or one that was changed', async () => {
    const a = await group(stage, 0, [1, 0])
    const b = await group(stage, 1, [0, 1])
    for (const listed of [
      { ...a.listed, outcomeOffset: b.listed.outcomeOffset },
      { ...a.listed, hash: b.listed.hash },
      { ...a.listed, outcomeOffset: 9 },
    ]) {
      await step([listed])
      await expect(packed(log, stage)).rejects.toMatchObject({
        code: 'STREAM_PROTOCOL',
        message: /advantages\.math/,
      })
    }
  })

  test('a rollout that was changed since it was scored', async () => {
    const { outcome } = await group(stage, 0, [1, 0])
    const members = outcome.members.map((m) => ({ ...m, rolloutHash: 'other' }))
    const changed = { ...outcome, members }
    const { offsets } = await append({ topic: advantages('math'), value: changed })
    await step([{ groupId: 'g0', admission: 0, outcomeOffset: offsets[0]!, hash: hashOutcome(changed) }])
    await expect(packed(log, stage)).rejects.toMatchObject({
      code: 'STREAM_PROTOCOL',
      message: /rollouts\.math/,
    })
  })

  test('a rollout of another policy version: a batch is strictly on-policy', async () => {
    const { listed } = await group(stage, 0, [1, 0], [], 2)
    await step([listed])
    await expect(packed(log, stage)).rejects.toMatchObject({
      code: 'STREAM_PROTOCOL',
      message: 'rollouts.math: rollout g0:0: expected policy version 3, which step 1 updates, got 2',
    })
  })

  test('a stage that the config does not have', async () => {
    await tell(closed({ stage: 'code' }))
    await expect(packed(log, stage)).rejects.toMatchObject({ code: 'STREAM_PROTOCOL', message: /stage code/ })
  })
})
