import { expect, test } from 'vitest'
import { admissionBudget, CoordinatorState } from '../../streams/coordinator-state.ts'
import { hashOutcome } from '../../streams/group-id.ts'
import type { Control, Evaluation, GroupOutcome, Update } from '../../topics/index.ts'
import { checkpointOf, closed, controlWriter, outcomeOf, rlStage } from './stages.ts'

const math = rlStage()
const admitted = (step: number, admission: number) => ({
  type: 'admitted' as const,
  stage: 'math',
  step,
  admission,
})
const outcome = (record: GroupOutcome, offset = record.admission) => ({
  type: 'outcome' as const,
  record,
  offset,
  hash: hashOutcome(record),
})
const said = (record: Control, timestamp = 5) => ({ type: 'control' as const, record, timestamp })

function fresh() {
  const state = new CoordinatorState([math])
  return { state, facts: () => state.facts.get('math')!, say: controlWriter() }
}

test('an admission is open until its step closes; its outcome may be read before it', () => {
  const { state, facts, say } = fresh()
  state.fold(outcome(outcomeOf(math, { admission: 1 }, [1, 0])))
  state.fold(admitted(1, 0))
  state.fold(admitted(1, 1))
  expect(facts().admitted).toBe(2)
  expect([...facts().open].map(([n, { outcome }]) => [n, outcome?.outcome])).toEqual([
    [1, 'kept'],
    [0, undefined],
  ])
  state.fold(said(say(closed())))
  expect(facts()).toMatchObject({ closed: 1, admitted: 2, lastVersion: 1, barren: 0 })
  expect(facts().open.size).toBe(0)
})

test('what comes for a closed step is too late; what is there of a later one stays', () => {
  const { state, facts, say } = fresh()
  state.fold(admitted(2, 2))
  state.fold(said(say(closed())))
  state.fold(admitted(1, 0))
  state.fold(outcome(outcomeOf(math, { admission: 1 }, [1, 0])))
  expect([...facts().open.keys()]).toEqual([2])
  expect(facts().admitted).toBe(3)
})

test('a step that is closed twice, or by a coordinator that was replaced, counts once', () => {
  const { state, facts, say } = fresh()
  const newer = controlWriter(2)
  const record = say(closed())
  state.fold(said(newer({ type: 'stage-begin', stage: 'math', index: 0, version: 0 })))
  state.fold(said(record))
  expect(facts().closed).toBe(0)
  state.fold(said(newer(closed())))
  state.fold(said(newer(closed())))
  expect(facts()).toMatchObject({ closed: 1, settled: 2 })
})

test('steps without an update are counted in a row', () => {
  const { state, facts, say } = fresh()
  const barren = []
  for (const [step, version] of [
    [1, 0],
    [2, 0],
    [3, 1],
    [4, 1],
  ] as const) {
    const baseVersion = step === 3 ? 0 : version
    state.fold(said(say(closed({ step, baseVersion, version }))))
    barren.push(facts().barren)
  }
  expect(barren).toEqual([1, 2, 0, 1])
})

test('the version is the latest that was applied, by update or by checkpoint', () => {
  const { state } = fresh()
  expect(state.version).toBe(0)
  state.fold({ type: 'update', record: { version: 4 } as Update })
  state.fold({ type: 'checkpoint', record: checkpointOf({ version: 3, reason: 'interval' }) })
  expect(state.version).toBe(4)
  state.fold({ type: 'checkpoint', record: checkpointOf({ version: 5, reason: 'interval' }) })
  expect(state.version).toBe(5)
})

test('only the first and the last checkpoint of a stage mean something', () => {
  const { state, facts } = fresh()
  state.fold({ type: 'checkpoint', record: checkpointOf() })
  state.fold({ type: 'checkpoint', record: checkpointOf({ id: 'c1', stage: 'math', reason: 'interval' }) })
  expect(facts().checkpoint).toBeUndefined()
  state.fold({ type: 'checkpoint', record: checkpointOf({ id: 'c2', stage: 'math', reason: 'stage-end' }) })
  expect([state.initial?.id, facts().checkpoint?.id]).toEqual(['c0', 'c2'])
})

test('scores are of the untrained model or of a stage', () => {
  const { state, facts } = fresh()
  for (const stage of ['start', 'math']) {
    state.fold({ type: 'evaluation', record: { stage, domain: `${stage}-domain` } as Evaluation })
  }
  expect([[...state.baseline], [...facts().evaluated]]).toEqual([['start-domain'], ['math-domain']])
})

test('a stage goes through begin, drain and end; the current one is the first that has not ended', () => {
  const code = rlStage({ name: 'code', domain: 'code' })
  const state = new CoordinatorState([math, code])
  const say = controlWriter()
  const facts = state.facts.get('math')!
  expect(state.current()).toMatchObject({ index: 0, facts: { begun: false } })
  state.fold(said(say({ type: 'stage-begin', stage: 'math', index: 0, version: 3 }), 77))
  expect(facts).toMatchObject({ begun: true, version: 3, lastVersion: 3, startedAt: 77 })
  state.fold(said(say({ type: 'stage-drain', stage: 'math', steps: 0, version: 3 })))
  expect(facts.drained).toBe(true)
  const end = { version: 3, checkpoint: 'c', reason: 'steps', steps: 0, seconds: 1 }
  state.fold(said(say({ type: 'stage-end', stage: 'math', ...end })))
  expect(state.current()).toMatchObject({ index: 1, spec: { name: 'code' } })
  state.fold(said(say({ type: 'stage-end', stage: 'code', ...end })))
  expect(state.current()).toBeUndefined()
})

test('pause and resume take turns; every command is remembered', () => {
  const { state, say } = fresh()
  const seen = (['pause', 'pause', 'resume', 'stop', 'pause'] as const).map((command, i) => {
    state.fold(said(say({ type: 'command', command, id: String(i) })))
    return state.paused
  })
  expect(seen).toEqual([true, true, false, false, true])
  expect([...state.commands]).toEqual(['0', '1', '2', '3', '4'])
})

test('two stages of one domain keep their groups apart', () => {
  const again = rlStage({ name: 'again' })
  const state = new CoordinatorState([math, again])
  state.fold(outcome(outcomeOf(math, { admission: 0 }, [1, 0])))
  state.fold(outcome(outcomeOf(again, { admission: 0 }, [1, 1])))
  expect([...state.facts].map(([name, f]) => [name, f.open.get(0)?.outcome?.outcome])).toEqual([
    ['math', 'kept'],
    ['again', 'filtered'],
  ])
})

test.each([
  [4, 1, 4],
  [4, 1.5, 6],
  [3, 1.5, 4],
  [8, 1.99, 15],
])('%i prompts refilled %f times: %i admissions a step', (prompts, refill, budget) => {
  expect(admissionBudget(rlStage({ prompts, refill }))).toBe(budget)
})
