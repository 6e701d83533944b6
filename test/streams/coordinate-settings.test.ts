import { expect, test } from 'vitest'
import { control, prompts, type Topic } from '../../topics/index.ts'
import { answer, begun, mathPrompts, stage, start, types, until } from './coordinating.ts'
import { outcomeOf, rlStage } from './stages.ts'

test('a setting holds from the first step of which nothing was admitted', async () => {
  const log = await begun()
  const { inbox, abort, ending } = start(log, { stages: [stage, rlStage({ name: 'later', steps: 2 })] })
  await until(log, mathPrompts, 2)
  const set = (id: string, of: string, field: string, value: number) =>
    inbox.give({ id, command: 'set', asked: { stage: of, field, value } })
  set('a', 'math', 'temperature', 0.5)
  set('b', 'later', 'lr', 1e-6)
  set('c', 'math', 'groupSize', 3)
  set('d', 'math', 'lr', -1)
  set('e', 'nosuch', 'lr', 1)
  await until(log, control as Topic<unknown>, 7)
  const sets = log.values(control).flatMap((c) => (c.type === 'set' ? [c] : []))
  expect(sets.map(({ id, step, refused }) => [id, step, refused === undefined])).toEqual([
    ['a', 2, true],
    ['b', 1, true],
    ['c', 2, false],
    ['d', 2, false],
    ['e', 1, false],
  ])
  expect(sets[2]!.refused).toMatch(/^math\.groupSize: expected one of lr, .*, got groupSize$/)
  expect(sets[3]!.refused).toMatch(/^math\.lr: .*, got -1$/)
  expect(sets[4]!.refused).toMatch(/^nosuch: expected one of the stages math, later/)
  await answer(log, ...[0, 1].map((admission) => outcomeOf(stage, { admission }, [1, 1])))
  await until(log, mathPrompts, 4)
  expect(log.values(prompts('math')).map((p) => p.sampling.temperature)).toEqual([1, 1, 0.5, 0.5])
  await answer(log, ...[2, 3].map((admission) => outcomeOf(stage, { admission, step: 2 }, [1, 1])))
  await until(log, control as Topic<unknown>, 9)
  const closed = log.values(control).flatMap((c) => (c.type === 'batch-closed' ? [c.settings] : []))
  expect(closed).toEqual([undefined, { temperature: 0.5 }])
  abort.abort()
  await expect(ending).rejects.toThrow()
})

test('a stage that is to finish begins no further step', async () => {
  const log = await begun()
  const { inbox, abort, ending } = start(log, { stages: [rlStage({ ...stage, steps: 9 })] })
  await until(log, mathPrompts, 2)
  inbox.send('f', 'finish-stage')
  await until(log, control as Topic<unknown>, 3)
  expect(types(log)).toEqual(['run-begin', 'stage-begin', 'command'])
  await answer(log, ...[0, 1].map((admission) => outcomeOf(stage, { admission }, [1, 1])))
  await until(log, control as Topic<unknown>, 5)
  expect(types(log).slice(3)).toEqual(['batch-closed', 'stage-drain'])
  expect(log.values(control).at(-1)).toMatchObject({ steps: 1, reason: 'finish-stage' })
  inbox.send('again', 'finish-stage')
  await until(log, control as Topic<unknown>, 6)
  expect(log.values(control).at(-1)).toMatchObject({
    id: 'again',
    refused: 'expected a stage that is going on',
  })
  expect(log.values(mathPrompts)).toHaveLength(2)
  abort.abort()
  await expect(ending).rejects.toThrow()
})
