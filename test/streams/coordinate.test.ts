import { describe, expect, test } from 'vitest'
import type { CoordinateOptions } from '../../streams/coordinate.ts'
import type { Append, Evaluator } from '../../streams/ports.ts'
import {
  checkpoints,
  control,
  demonstrations,
  type Evaluation,
  evaluations,
  prompts,
  type Topic,
  updates,
} from '../../topics/index.ts'
import { answer, begun, mathPrompts, settled, stage, start, types, until } from './coordinating.ts'
import { turns } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'
import { checkpointOf, outcomeOf, rlStage, sftStage } from './stages.ts'
import { arithmetic, Model } from './world.ts'

describe('the run', () => {
  test('admits, closes and waits for the update, recording all of it in order', async () => {
    const log = await begun()
    const { abort, ending } = start(log)
    await until(log, mathPrompts, 2)
    expect(types(log)).toEqual(['run-begin', 'stage-begin'])
    await answer(log, outcomeOf(stage, { admission: 1 }, [1, 0]))
    await settled()
    expect(types(log)).toHaveLength(2)
    await answer(log, outcomeOf(stage, { admission: 0 }, [1, 1]))
    await until(log, control as Topic<unknown>, 3)
    const record = log.values(control)[2]!
    expect(record).toMatchObject({
      type: 'batch-closed',
      step: 1,
      baseVersion: 0,
      version: 1,
      opens: true,
      epoch: 1,
      seq: 2,
      groups: [{ groupId: 'math-1', admission: 1, outcomeOffset: 0 }],
      counts: { admitted: 2, kept: 1, filtered: 1, lost: 0 },
    })
    await settled()
    expect(log.values(mathPrompts)).toHaveLength(2)
    const model = new Model()
    const update = await model.apply(
      { baseVersion: 0, version: 1, id: 'math/1', stage: 'math', domain: 'math', step: 1, ...empty },
      0,
    )
    await log.commit({ append: [{ topic: updates, value: update } as Append], settle: [] })
    await until(log, mathPrompts, 4)
    expect(log.values(prompts('math')).map((p) => [p.step, p.policyVersion])).toEqual([
      [1, 0],
      [1, 0],
      [2, 1],
      [2, 1],
    ])
    abort.abort(new Error('enough'))
    await expect(ending).rejects.toThrow('enough')
  })

  test('demonstrations and the step that they make are one commit', async () => {
    const seen: string[][] = []
    const log = new MemoryLog({
      beforeCommit: ({ append }) => void seen.push(append.map((a) => a.topic.name)),
    })
    await log.commit({ append: [{ topic: checkpoints, value: checkpointOf() }], settle: [] })
    const { abort, ending } = start(log, { stages: [sftStage({ batch: 2 }), stage] })
    await until(log, demonstrations as Topic<unknown>, 6)
    expect(seen.filter((names) => names.includes('demonstrations'))).toEqual(
      Array(3).fill(['demonstrations', 'demonstrations', 'control']),
    )
    const ranges = log.values(control).flatMap((c) => (c.type === 'batch-closed' ? [c.demonstrations] : []))
    expect(ranges).toEqual([
      { from: 0, to: 2 },
      { from: 2, to: 4 },
      { from: 4, to: 6 },
    ])
    abort.abort()
    await expect(ending).rejects.toThrow()
  })

  test('an evaluation that was recorded is not made again', async () => {
    const log = await begun()
    const first = start(log)
    await until(log, mathPrompts, 2)
    first.abort.abort()
    await first.ending.catch(() => undefined)
    const evaluator: Evaluator = { evaluate: () => expect.unreachable() }
    const second = start(log, { epoch: 2, evaluator })
    await settled()
    second.abort.abort(new Error('enough'))
    await expect(second.ending).rejects.toThrow('enough')
    expect(log.values(evaluations)).toHaveLength(1)
    expect(log.values(mathPrompts)).toHaveLength(2)
  })
})

const empty = {
  kind: 'batch' as const,
  members: [],
  microBatches: [],
  options: {
    lr: 0.1,
    betas: [0.9, 0.95] as [number, number],
    eps: 1e-8,
    weightDecay: 0,
    maxGradNorm: 1,
    temperature: 1,
    klCoef: 0,
  },
  resetOptimizer: false,
  checkpoint: false,
  stats: {},
}

describe('commands', () => {
  test('are answered in the transaction that records them, each id once', async () => {
    const answered: (readonly string[] | undefined)[] = []
    const log = new MemoryLog({
      beforeCommit: (tx) => {
        if (tx.inbox) answered.push(tx.inbox)
      },
    })
    await log.commit({ append: [{ topic: checkpoints, value: checkpointOf() }], settle: [] })
    const { inbox, ending } = start(log)
    inbox.send('a', 'pause')
    inbox.send('a', 'pause')
    inbox.send('b', 'resume')
    inbox.send('c', 'stop')
    expect(await ending).toBe('stopped')
    expect(answered).toEqual([['a'], ['b'], ['c']])
    const commands = log
      .values(control)
      .flatMap((c) => (c.type === 'command' ? [`${c.id} ${c.command}`] : []))
    expect(commands).toEqual(['a pause', 'b resume', 'c stop'])
    expect(log.values(control).map((c) => c.seq)).toEqual(log.values(control).map((_, i) => i))
  })

  test('a pause holds the next step back until it is resumed', async () => {
    const log = await begun()
    const { inbox, abort, ending } = start(log, { stages: [rlStage({ ...stage, minGroups: 2 })] })
    await until(log, mathPrompts, 2)
    inbox.send('p', 'pause')
    // Without an update the next step could begin at once.
    await answer(log, ...[0, 1].map((admission) => outcomeOf(stage, { admission }, [1, 1])))
    await settled()
    expect(types(log).at(-1)).toBe('batch-closed')
    expect(log.values(mathPrompts)).toHaveLength(2)
    inbox.send('r', 'resume')
    await until(log, mathPrompts, 4)
    abort.abort()
    await expect(ending).rejects.toThrow()
  })

  test('a run that was paused when its process ended goes on with the next one', async () => {
    const log = await begun()
    const first = start(log)
    first.inbox.send('p', 'pause')
    await until(log, control as Topic<unknown>, 2)
    first.inbox.send('s', 'stop')
    expect(await first.ending).toBe('stopped')
    const second = start(log, { epoch: 2 })
    await until(log, mathPrompts, 2)
    const resumed = log.values(control).filter((c) => c.type === 'command' && c.command === 'resume')
    expect(resumed).toMatchObject([{ epoch: 2, id: 'resume-2' }])
    second.abort.abort()
    await expect(second.ending).rejects.toThrow()
  })

  test('stop does not wait for an evaluation', async () => {
    const log = await begun()
    const asked: string[] = []
    const evaluator: Evaluator = {
      evaluate: (_, stage) => {
        asked.push(stage)
        return new Promise<Evaluation>(() => undefined)
      },
    }
    const { inbox, ending } = start(log, { evaluator })
    await settled()
    expect(asked).toEqual(['start'])
    inbox.send('s', 'stop')
    expect(await ending).toBe('stopped')
    expect(log.values(evaluations)).toEqual([])
  })
})

describe('an end', () => {
  test('too many errors end it, naming where to look; a restart begins to count anew', async () => {
    const log = await begun()
    const broken = [undefined, undefined]
    const first = start(log)
    await until(log, mathPrompts, 2)
    await answer(log, outcomeOf(stage, { admission: 0 }, broken), outcomeOf(stage, { admission: 1 }, broken))
    await expect(first.ending).rejects.toMatchObject({
      code: 'VERIFIER_ERROR_BUDGET',
      message: /4 of 4 rollouts of step 1 .* prompts\.math\.dlq and rollouts\.math\.dlq/,
    })
    expect(types(log)).not.toContain('batch-closed')
    const second = start(log, { epoch: 2 })
    await until(log, mathPrompts, 4)
    expect(types(log)).toContain('batch-closed')
    second.abort.abort()
    await expect(second.ending).rejects.toThrow()
  })

  test('however it ends, its commit is over by then and no other follows', async () => {
    let open = 0
    let release: () => void = () => undefined
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const log = new MemoryLog({
      async beforeCommit({ append }) {
        if (append[0]?.topic.name !== 'prompts.math') return
        open += 1
        await held
        open -= 1
      },
    })
    await log.commit({ append: [{ topic: checkpoints, value: checkpointOf() }], settle: [] })
    const { abort, ending } = start(log)
    for (let i = 0; i < 400 && open === 0; i++) await turns(5)
    expect(open).toBe(1)
    let ended = false
    const over = ending.catch(() => {
      ended = true
    })
    abort.abort()
    await settled()
    expect(ended).toBe(false)
    release()
    await over
    expect(open).toBe(0)
    const { commits } = log
    await settled()
    expect(log.commits).toBe(commits)
  })

  test.each<[string, Partial<CoordinateOptions>]>([
    ['an evaluator', { evaluator: { evaluate: () => Promise.reject(new Error('broken part')) } }],
    [
      'a prompt source',
      {
        source: {
          ...arithmetic,
          prompt: () => {
            throw new Error('broken part')
          },
        },
      },
    ],
    [
      'an inbox',
      {
        inbox: () => ({
          [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('broken part')) }),
        }),
      },
    ],
  ])('%s that fails is the end, with its error', async (_, over) => {
    await expect(start(await begun(), over).ending).rejects.toThrow('broken part')
  })

  test('a record that cannot be read is the end', async () => {
    const log = await begun()
    const { ending } = start(log)
    await until(log, mathPrompts, 2)
    log.corrupt('updates', Uint8Array.of(1, 2, 3))
    await answer(log, outcomeOf(stage, { admission: 0 }, [1, 0]))
    await expect(ending).rejects.toMatchObject({ code: 'RECORD_CORRUPT' })
  })
})

test('the named places of a crash are passed in the order of a run’s end', async () => {
  const points: string[] = []
  const log = await begun()
  const short = rlStage({ ...stage, steps: 1, minGroups: 2 })
  const { ending } = start(log, { stages: [short], probe: (p) => void points.push(p) })
  await until(log, mathPrompts, 2)
  await answer(log, ...[0, 1].map((admission) => outcomeOf(stage, { admission }, [1, 1])))
  for (let i = 0; i < 400 && !types(log).includes('stage-drain'); i++) await turns(5)
  const value = checkpointOf({ id: 'c1', stage: 'math', step: 1, reason: 'stage-end' })
  await log.commit({ append: [{ topic: checkpoints, value }], settle: [] })
  expect(await ending).toBe('done')
  expect(points).toEqual(['evaluation', 'drain', 'evaluation', 'transition'])
})
