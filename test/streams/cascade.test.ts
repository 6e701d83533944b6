import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CascadeOptions, cascade } from '../../streams/cascade.ts'
import type { InboxCommand, Probe, TopicLog } from '../../streams/ports.ts'
import {
  type RoleName,
  roleNames,
  runGenerate,
  runGroup,
  runPack,
  runUpdate,
  runVerify,
} from '../../streams/roles.ts'
import {
  advantages,
  checkpoints,
  control,
  demonstrations,
  evaluations,
  gradientBatches,
  prompts,
  rewards,
  rollouts,
  type StageSpec,
  updates,
} from '../../topics/index.ts'
import { Crash, crashingLog } from './crashing-log.ts'
import { turns } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'
import { rlStage, sftStage } from './stages.ts'
import { arithmetic, Model, parity, stillClock, timeless, verifiersOf } from './world.ts'

const stages: readonly StageSpec[] = [
  sftStage({ steps: 2, checkpointEvery: 2 }),
  rlStage({ steps: 3, prompts: 3, groupSize: 3, refill: 2, checkpointEvery: 2, clipHigh: 0.2 }),
  rlStage({ name: 'again', steps: 1, prompts: 2, groupSize: 2, refill: 3 }),
]

function optionsOf(model: Model, epoch: number, over: Partial<CascadeOptions> = {}): CascadeOptions {
  return {
    runId: 'run',
    seed: 7,
    deterministic: true,
    configHash: 'c',
    stages,
    epoch,
    source: arithmetic,
    evaluator: model,
    policy: model,
    sink: model,
    verifiers: verifiersOf(parity),
    credit: { records: 64, bytes: 1 << 20 },
    plan: { maxTokens: 16, align: 2 },
    decodeRows: 4,
    verify: { concurrency: 3, attempts: 1, timeoutMs: 1000, maxOutageMs: 60_000 },
    clock: stillClock,
    scheduler: timeless,
    signal: new AbortController().signal,
    ...over,
  }
}

/** One process's part of a run, from wherever the log stands; its weights at the end. */
async function live(log: TopicLog, epoch: number): Promise<Model> {
  const model = await Model.restore(log, epoch)
  const end = await cascade(log, optionsOf(model, epoch))
  expect(end).toBe('done')
  return model
}

/**
 * All that a run has written, but for what may differ between two runs alike: the writer's epoch, and the places that
 * concurrent work took in a topic.
 */
function written(log: MemoryLog) {
  const sorted = <T>(values: T[], key: (v: T) => string) => values.sort((a, b) => (key(a) < key(b) ? -1 : 1))
  const placed = ({ rolloutOffset: _o, ...rest }: { rolloutOffset: number }) => rest
  return {
    control: log.values(control).map(({ epoch: _e, ...c }) => ({
      ...c,
      ...(c.type === 'batch-closed' ? { groups: c.groups.map(({ outcomeOffset: _o, ...g }) => g) } : {}),
    })),
    demonstrations: log.values(demonstrations),
    prompts: log.values(prompts('math')),
    rollouts: sorted(log.values(rollouts('math')), (r) => r.id),
    rewards: sorted(log.values(rewards('math')), (r) => r.id).map(placed),
    advantages: sorted(log.values(advantages('math')), (g) => g.groupId).map((g) => ({
      ...g,
      members: g.members.map(placed),
    })),
    gradientBatches: log.values(gradientBatches),
    updates: log.values(updates),
    checkpoints: log.values(checkpoints).map(({ writerEpoch: _w, ...c }) => c),
    evaluations: log.values(evaluations),
  }
}

async function undisturbed() {
  const log = new MemoryLog()
  const model = await live(log, 1)
  return { log, model, topics: written(log) }
}

test('a run is what its config says: steps, replacements, checkpoints, scores', async () => {
  const { topics, model } = await undisturbed()
  expect(topics.control.map((c) => ('step' in c ? `${c.type} ${c.stage}/${c.step}` : c.type))).toEqual([
    'run-begin',
    'stage-begin',
    'batch-closed sft/1',
    'batch-closed sft/2',
    'stage-drain',
    'stage-end',
    'stage-begin',
    'batch-closed math/1',
    'batch-closed math/2',
    'batch-closed math/3',
    'stage-drain',
    'stage-end',
    'stage-begin',
    'batch-closed again/1',
    'stage-drain',
    'stage-end',
    'run-end',
  ])
  expect(topics.updates.map((u) => u.version)).toEqual([1, 2, 3, 4, 5, 6])
  expect(model.applied).toEqual(topics.gradientBatches.filter((b) => b.kind === 'batch').map((b) => b.id))
  expect(topics.checkpoints.map((c) => `${c.reason} ${c.stage}/${c.step} v${c.version}`)).toEqual([
    'initial start/0 v0',
    'stage-end sft/2 v2',
    'interval math/2 v4',
    'stage-end math/3 v5',
    'stage-end again/1 v6',
  ])
  expect(topics.evaluations.map((e) => e.id)).toEqual(['start/math', 'sft/math', 'math/math', 'again/math'])
  // Some groups were all right or all wrong: this run does test replacements.
  const kept = topics.advantages.filter((g) => g.outcome === 'kept').length
  expect(topics.prompts.length).toBeGreaterThan(kept)
  for (const g of topics.gradientBatches) {
    for (const m of g.microBatches) expect(m.oldLogprobs !== undefined).toBe(g.stage === 'math')
  }
})

test.each(['before', 'after'] as const)(
  'killed %s any of its commits and started again, it writes the same',
  async (when) => {
    const { log, topics, model } = await undisturbed()
    for (let k = 0; k < log.commits; k++) {
      const disk = new MemoryLog()
      const first = crashingLog(disk, k, when)
      await live(first, 1).catch((error: unknown) => {
        if (!(error instanceof Crash)) throw error
      })
      const last = await live(disk, 2)
      expect(last.weights, `commit ${k}`).toBe(model.weights)
      expect(written(disk), `commit ${k}`).toEqual(topics)
    }
  },
)

test('killed again and again, with commits of any duration, it writes the same', async () => {
  const { topics, model } = await undisturbed()
  const cuts = fc.array(fc.tuple(fc.nat(20), fc.constantFrom('before' as const, 'after' as const)), {
    minLength: 1,
    maxLength: 8,
  })
  await fc.assert(
    fc.asyncProperty(cuts, fc.infiniteStream(fc.nat(6)), async (list, draw) => {
      const disk = new MemoryLog({ beforeCommit: () => turns(draw.next().value as number) })
      let epoch = 1
      for (const [k, when] of list) {
        await live(crashingLog(disk, k, when), epoch++).catch((error: unknown) => {
          if (!(error instanceof Crash)) throw error
        })
      }
      expect((await live(disk, epoch)).weights).toBe(model.weights)
      expect(written(disk)).toEqual(topics)
    }),
    { numRuns: 30 },
  )
})

describe('a run that does not end by itself', () => {
  /** Nothing of a run goes on: whatever is awaited, no record is written and no page is asked for. */
  async function expectStill(log: MemoryLog): Promise<void> {
    const { commits, fetches } = log
    for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve))
    expect([log.commits, log.fetches]).toEqual([commits, fetches])
  }

  test.each<[string, (model: Model, error: Error) => Partial<CascadeOptions>]>([
    [
      'the update',
      (model, error) => {
        const apply: Model['apply'] = async (batch, offset) => {
          if (batch.version === 4) throw error
          return model.apply(batch, offset)
        }
        return {
          sink: {
            apply,
            checkpoint: (at) => model.checkpoint(at),
            get version() {
              return model.version
            },
          },
        }
      },
    ],
    [
      'the coordinator',
      (_, error) => ({
        evaluator: {
          evaluate: () => Promise.reject(error),
        },
      }),
    ],
    [
      'its first admission',
      (_, error) => ({
        source: {
          ...arithmetic,
          prompt: () => {
            throw error
          },
        },
      }),
    ],
  ])('an error of %s ends all the others and is the one thrown', async (_, over) => {
    const log = new MemoryLog()
    const model = await Model.restore(log, 1)
    const error = new Error('broken')
    await expect(cascade(log, optionsOf(model, 1, over(model, error)))).rejects.toBe(error)
    await expectStill(log)
    expect((await live(log, 2)).weights).toBe((await undisturbed()).model.weights)
  })

  test('aborted, it throws the reason once every part has ended, and goes on later', async () => {
    const log = new MemoryLog()
    const model = await Model.restore(log, 1)
    const stop = new AbortController()
    const reason = new Error('enough')
    const probe: Probe = (point) => {
      if (point === 'drain') stop.abort(reason)
    }
    await expect(cascade(log, optionsOf(model, 1, { signal: stop.signal, probe }))).rejects.toBe(reason)
    await expectStill(log)
    expect((await live(log, 2)).weights).toBe((await undisturbed()).model.weights)
  })

  test('aborted before it begins, it writes nothing', async () => {
    const log = new MemoryLog()
    const model = await Model.restore(log, 1)
    const signal = AbortSignal.abort(new Error('early'))
    await expect(cascade(log, optionsOf(model, 1, { signal }))).rejects.toThrow('early')
    expect(log.values(control)).toEqual([])
  })

  test('stopped by a command, it says so, and goes on later', async () => {
    const log = new MemoryLog()
    const model = await Model.restore(log, 1)
    async function* inbox(signal: AbortSignal): AsyncGenerator<InboxCommand> {
      await log.wait(gradientBatches.name, 3, signal)
      yield { id: 'enough', command: 'stop' }
    }
    expect(await cascade(log, optionsOf(model, 1, { inbox }))).toBe('stopped')
    await expectStill(log)
    const types = log.values(control).map((c) => c.type)
    expect(types.at(-1)).toBe('command')
    expect(types).not.toContain('run-end')
    expect((await live(log, 2)).weights).toBe((await undisturbed()).model.weights)
  })
})

test('a commit that fails while a run is being stopped is not passed over', async () => {
  let stopping = false
  const log = new MemoryLog({
    beforeCommit: async ({ inbox }) => {
      // Time for the others: to have commits queued behind this one, and for the run to be stopped before they fail.
      if (inbox || stopping) await turns(200)
      if (stopping) throw new Error('disk')
      if (inbox) stopping = true
    },
  })
  const model = await Model.restore(log, 1)
  async function* inbox(signal: AbortSignal): AsyncGenerator<InboxCommand> {
    await log.wait(rollouts('math').name, 1, signal)
    yield { id: 'enough', command: 'stop' }
  }
  await expect(cascade(log, optionsOf(model, 1, { inbox }))).rejects.toThrow('disk')
})

test.each<[string, RoleName[]]>([
  ['generate and verify', ['generate', 'verify']],
  ['update', ['update']],
  ['none', []],
])('with %s here and the rest elsewhere, the run is the same', async (_, roles) => {
  const whole = await undisturbed()
  const log = new MemoryLog()
  const model = await Model.restore(log, 1)
  const options = optionsOf(model, 1, { roles })
  const { clock, scheduler, decodeRows, seed, plan } = options
  const elsewhere: Record<RoleName, () => Promise<void>> = {
    generate: () => runGenerate(log, model, { ...options, decodeRows, clock }),
    verify: () => runVerify(log, options.verifiers, { ...options, ...options.verify, clock, scheduler }),
    group: () => runGroup(log, options),
    pack: () => runPack(log, { ...options, seed, plan }),
    update: () => runUpdate(log, model, options),
  }
  const others = roleNames.filter((name) => !roles.includes(name)).map((name) => elsewhere[name]())
  expect(await cascade(log, options)).toBe('done')
  await Promise.all(others)
  expect(model.weights).toBe(whole.model.weights)
  expect(written(log)).toEqual(whole.topics)
})
