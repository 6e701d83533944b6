import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { admissionBudget } from '../../streams/coordinator-state.ts'
import { type Decision, decide } from '../../streams/decide.ts'
import type { RlStage, StageSpec } from '../../topics/index.ts'
import { type Fate, type Outcome, Simulation } from './simulate.ts'
import { outcomeOf, rlStage, sftStage } from './stages.ts'

const domains = ['math', 'code']

/** Answers in the order in which they were asked for: the undisturbed run. */
const first = () => 0

function finished(stages: readonly StageSpec[], fate: Fate, draw: (n: number) => number = first): Simulation {
  const run = new Simulation(stages, domains, fate)
  for (let i = 0; i < 5000 && run.tick(draw); i++);
  expect(run.state.runEnded).toBe(true)
  return run
}

const always =
  (outcome: Outcome): Fate =>
  () =>
    outcome

const of = <T extends Decision['type']>(run: Simulation, type: T) =>
  run.decisions.filter((d): d is Extract<Decision, { type: T }> => d.type === type)

describe('a whole run', () => {
  const stages = [sftStage({ steps: 2 }), rlStage({ steps: 2 })]

  test('in order: scores before, then each stage: begin, steps, drain, scores, end', () => {
    const run = finished(stages, always('kept'))
    expect(run.decisions.map((d) => ('domain' in d ? `${d.type} ${d.stage}/${d.domain}` : d.type))).toEqual([
      'run-begin',
      'evaluate start/math',
      'evaluate start/code',
      'stage-begin',
      'demonstrate',
      'demonstrate',
      'stage-drain',
      'evaluate sft/math',
      'evaluate sft/code',
      'stage-end',
      'stage-begin',
      'admit',
      'close',
      'admit',
      'close',
      'stage-drain',
      'evaluate math/math',
      'evaluate math/code',
      'stage-end',
      'run-end',
    ])
  })

  test('versions go on from stage to stage; the first update of each opens it', () => {
    const run = finished(stages, always('kept'))
    const steps = [
      ...of(run, 'demonstrate').map((d) => ({ ...d, version: d.baseVersion + 1 })),
      ...of(run, 'close'),
    ]
    expect(steps.map((d) => [d.stage.name, d.step, d.baseVersion, d.version, d.opens])).toEqual([
      ['sft', 1, 0, 1, true],
      ['sft', 2, 1, 2, false],
      ['math', 1, 2, 3, true],
      ['math', 2, 3, 4, false],
    ])
    expect(of(run, 'stage-begin').map((d) => [d.index, d.version])).toEqual([
      [0, 0],
      [1, 2],
    ])
    expect(of(run, 'stage-end').map((d) => [d.version, d.checkpoint, d.steps, d.reason])).toEqual([
      [2, 'c2', 2, 'steps'],
      [4, 'c4', 2, 'steps'],
    ])
  })

  test('nothing is decided before the first weights are there, and nothing after the end', () => {
    const run = new Simulation(stages, domains, always('kept'))
    run.execute(decide(run.state, domains)!)
    run.state.initial = undefined
    expect(decide(run.state, domains)).toBeUndefined()
    expect(decide(finished(stages, always('kept')).state, domains)).toBeUndefined()
  })
})

describe('supervised steps', () => {
  test('at most four lie ahead of the update', () => {
    const run = new Simulation([sftStage({ steps: 9 })], [], always('kept'))
    for (;;) {
      const d = decide(run.state, [])
      if (!d) break
      run.execute(d)
    }
    expect(of(run, 'demonstrate').map((d) => d.step)).toEqual([1, 2, 3, 4])
    // An update makes room for one more.
    run.tick(first)
    expect(decide(run.state, [])).toMatchObject({ type: 'demonstrate', step: 5, baseVersion: 4, first: 8 })
  })
})

describe('admission', () => {
  const kept =
    (indices: readonly number[]): Fate =>
    (_, admission) =>
      indices.includes(admission) ? 'kept' : 'filtered'

  test.each<[string, Partial<RlStage>, Fate, { counts: object; groups: number[]; updated: boolean }]>([
    [
      'all kept: nothing is replaced',
      { prompts: 3, refill: 2 },
      always('kept'),
      { counts: { admitted: 3, kept: 3, filtered: 0, lost: 0 }, groups: [0, 1, 2], updated: true },
    ],
    [
      'those that are not kept are replaced',
      { prompts: 3, refill: 3 },
      kept([1, 4, 6]),
      { counts: { admitted: 7, kept: 3, filtered: 4, lost: 0 }, groups: [1, 4, 6], updated: true },
    ],
    [
      'lost ones, too',
      { prompts: 2, refill: 2 },
      (_, n) => (n < 2 ? 'lost' : 'kept'),
      { counts: { admitted: 4, kept: 2, filtered: 0, lost: 2 }, groups: [2, 3], updated: true },
    ],
    [
      'the budget spent, it closes short',
      { prompts: 4, refill: 1.5 },
      kept([0, 5]),
      { counts: { admitted: 6, kept: 2, filtered: 4, lost: 0 }, groups: [0, 5], updated: true },
    ],
    [
      'without refill nothing is replaced',
      { prompts: 3 },
      kept([2]),
      { counts: { admitted: 3, kept: 1, filtered: 2, lost: 0 }, groups: [2], updated: true },
    ],
    [
      'below the minimum it closes without an update',
      { prompts: 3, minGroups: 2 },
      kept([2]),
      { counts: { admitted: 3, kept: 1, filtered: 2, lost: 0 }, groups: [], updated: false },
    ],
  ])('%s', (_, over, fate, expected) => {
    const [close] = of(finished([rlStage({ ...over, steps: 1 })], fate), 'close')
    expect(close!.counts).toEqual(expected.counts)
    expect(close!.groups.map((g) => g.admission)).toEqual(expected.groups)
    expect(close!.version > close!.baseVersion).toBe(expected.updated)
    expect(close!.reason === undefined).toBe(expected.updated)
  })

  test('what a step closes with says the mean reward of every group, kept or not', () => {
    const [close] = of(
      finished([rlStage({ steps: 1, prompts: 3 })], (_, n) => (['kept', 'filtered', 'lost'] as const)[n]!),
      'close',
    )
    // Rewards 1 and 0, 1 and 1, and a lone 1; lengths 2 and 3, but 3 alone in the lost group.
    expect(close!.stats).toEqual({ reward: 4 / 5, responseLength: 13 / 5, truncated: 0 })
  })

  test('its last bits do not depend on who finished first', () => {
    const stage = rlStage({ steps: 1, prompts: 3 })
    const means = [
      [0, 1, 2],
      [2, 1, 0],
    ].map((order) => {
      const run = new Simulation([stage], [], always('kept'))
      while (decide(run.state, [])?.type !== 'admit') run.tick(first)
      const admit = decide(run.state, [])!
      // Read before the prompts that they answer.
      for (const admission of order) {
        const record = outcomeOf(stage, { admission }, [[0.1, 0.2, 0.3][admission]!, 0])
        run.state.fold({ type: 'outcome', record, offset: 0, hash: '' })
      }
      run.execute(admit)
      const decision = decide(run.state, [])
      return decision?.type === 'close' && decision.stats.reward
    })
    expect((0.1 + 0.2 + 0.3) / 6).not.toBe((0.3 + 0.2 + 0.1) / 6)
    expect(means).toEqual([(0.1 + 0.2 + 0.3) / 6, (0.1 + 0.2 + 0.3) / 6])
  })

  test('admission indices go on from step to step', () => {
    const run = finished([rlStage({ steps: 3, prompts: 2, refill: 2 })], (_, n) =>
      n % 3 === 1 ? 'filtered' : 'kept',
    )
    let next = 0
    for (const d of of(run, 'admit')) {
      expect(d.first).toBe(next)
      next += d.count
    }
    expect(of(run, 'close').map((d) => d.groups.map((g) => g.admission))).toEqual([
      [0, 2],
      [3, 5],
      [6, 8],
    ])
  })
})

describe('a stage without signal', () => {
  test('ends after so many steps in a row without an update, with that reason, and the next one begins', () => {
    const stages = [rlStage({ steps: 9, patience: 3 }), rlStage({ name: 'code', domain: 'code', steps: 1 })]
    const run = finished(stages, (stage, n) => (stage.name === 'math' && n >= 4 ? 'filtered' : 'kept'))
    expect(of(run, 'stage-end').map((d) => [d.stage, d.steps, d.reason, d.version])).toEqual([
      ['math', 5, 'no signal', 2],
      ['code', 1, 'steps', 3],
    ])
    expect(of(run, 'stage-drain').map((d) => d.steps)).toEqual([5, 1])
  })

  test('an update in between begins the count anew', () => {
    const run = finished([rlStage({ steps: 8, patience: 3 })], (_, n) => (n === 4 ? 'kept' : 'filtered'))
    // Steps 1 and 2 without, 3 with, 4, 5 and 6 without.
    expect(of(run, 'stage-end').map((d) => [d.steps, d.reason])).toEqual([[6, 'no signal']])
  })

  test('that comes to its last step all the same ends by its steps', () => {
    const run = finished([rlStage({ steps: 2, patience: 3 })], (_, n) => (n < 2 ? 'kept' : 'lost'))
    expect(of(run, 'stage-end').map((d) => [d.steps, d.reason])).toEqual([[2, 'steps']])
  })

  test('without a single update it ends with the weights that it began with', () => {
    const run = finished([sftStage({ steps: 2 }), rlStage({ steps: 9, patience: 2 })], always('lost'))
    expect(of(run, 'stage-end').map((d) => [d.stage, d.version])).toEqual([
      ['sft', 2],
      ['math', 2],
    ])
    expect(of(run, 'close').every((d) => !d.opens)).toBe(true)
  })

  test('the first update opens it, however late', () => {
    const run = finished([rlStage({ steps: 3 })], (_, n) => (n < 2 ? 'lost' : 'kept'))
    expect(of(run, 'close').map((d) => d.opens)).toEqual([false, true, false])
  })
})

describe('a pause', () => {
  const paused = (stages: readonly StageSpec[], until: (run: Simulation) => boolean) => {
    const run = new Simulation(stages, domains, always('kept'))
    while (!until(run)) expect(run.tick(first)).toBe(true)
    run.saying({ type: 'command', command: 'pause', id: 'p' })
    while (run.tick(first));
    return run
  }
  const resumed = (run: Simulation) => {
    run.saying({ type: 'command', command: 'resume', id: 'q' })
    while (run.tick(first));
    return run
  }

  test.each<[string, (run: Simulation) => boolean, Partial<Record<Decision['type'], number>>]>([
    ['before a stage keeps it shut', (r) => r.state.baseline.size === 2, { 'stage-begin': 0 }],
    ['within supervised steps admits no more', (r) => of(r, 'demonstrate').length === 1, { demonstrate: 1 }],
    ['within a step lets it finish', (r) => of(r, 'admit').length === 1, { admit: 1, close: 1 }],
    [
      'within a drain lets the stage end',
      (r) => of(r, 'stage-drain').length === 1,
      { 'stage-end': 1, 'stage-begin': 1 },
    ],
  ])('%s', (_, until, expected) => {
    const stages = [sftStage({ steps: 6 }), rlStage({ steps: 3 })]
    const run = paused(stages, until)
    for (const [type, n] of Object.entries(expected))
      expect(of(run, type as Decision['type']).length, type).toBe(n)
    expect(run.state.runEnded).toBe(false)
    expect(resumed(run).decisions).toEqual(finished(stages, always('kept')).decisions.map(expectAnyTime))
  })

  test('within a step still replaces what was not kept', () => {
    const stages = [rlStage({ steps: 1, prompts: 2, refill: 2 })]
    const run = new Simulation(stages, [], (_, n) => (n < 2 ? 'filtered' : 'kept'))
    while (of(run, 'admit').length === 0) run.tick(first)
    run.saying({ type: 'command', command: 'pause', id: 'p' })
    while (run.tick(first));
    expect(of(run, 'close').map((d) => d.groups.map((g) => g.admission))).toEqual([[2, 3]])
  })

  test('stop leaves no trace: a resumed run goes on', () => {
    const run = new Simulation([rlStage()], domains, always('kept'))
    run.saying({ type: 'command', command: 'stop', id: 's' })
    while (run.tick(first));
    expect(run.state.runEnded).toBe(true)
  })
})

/** A pause moves the clock on. */
function expectAnyTime(d: Decision): Decision {
  return 'startedAt' in d ? { ...d, startedAt: expect.any(Number) } : d
}

describe('whatever the order in which groups finish', () => {
  const draws = fc.infiniteStream(fc.nat(10_000)).map((s) => (n: number) => (s.next().value as number) % n)
  const fates = fc
    .array(fc.constantFrom<Outcome>('kept', 'kept', 'filtered', 'lost'), { minLength: 60, maxLength: 60 })
    .map(
      (list): Fate =>
        (stage, n) =>
          list[(n + stage.name.length) % list.length]!,
    )
  const stagesOf = fc
    .record({
      prompts: fc.integer({ min: 1, max: 4 }),
      refill: fc.constantFrom(1, 1.5, 3),
      minGroups: fc.integer({ min: 1, max: 3 }),
      patience: fc.integer({ min: 1, max: 3 }),
      steps: fc.integer({ min: 1, max: 4 }),
    })
    .map((over) => [
      sftStage({ steps: 3 }),
      rlStage(over),
      rlStage({ ...over, name: 'math-2', prompts: over.prompts + 1 }),
    ])

  const exits = fc.constantFrom(
    undefined,
    { reward: 0.75, window: 1, minSteps: 1 },
    { plateau: 0, window: 1, minSteps: 2 },
    { clipShare: 0, window: 2, minSteps: 1 },
  )

  /** A step as the rule has it: the first `prompts` kept groups, among the fewest admissions that have them. */
  function expectedSteps(stage: RlStage, fate: Fate): { admitted: number; groups: number[] }[] {
    const steps = []
    let at = 0
    let barren = 0
    for (let step = 1; step <= stage.steps && barren < stage.patience; step++) {
      const from = at
      const groups: number[] = []
      while (groups.length < stage.prompts && at - from < admissionBudget(stage)) {
        if (fate(stage, at) === 'kept') groups.push(at)
        at += 1
      }
      const enough = groups.length >= stage.minGroups
      barren = enough ? 0 : barren + 1
      steps.push({ admitted: at - from, groups: enough ? groups : [] })
    }
    return steps
  }

  test('the same steps of the same groups', () => {
    fc.assert(
      fc.property(stagesOf, fates, draws, (stages, fate, draw) => {
        const run = finished(stages, fate, draw)
        const expected = stages.flatMap((s) =>
          s.kind === 'rl' ? expectedSteps(s, fate).map((e) => ({ ...e, stage: s.name })) : [],
        )
        const got = of(run, 'close').map((d) => ({
          stage: d.stage.name,
          admitted: d.counts.admitted,
          groups: d.groups.map((g) => g.admission),
        }))
        expect(got).toEqual(expected)
      }),
    )
  })

  test('never more in flight than a batch, never past the budget, never ahead of the update', () => {
    fc.assert(
      fc.property(stagesOf, fates, draws, (stages, fate, draw) => {
        const run = new Simulation(stages, domains, fate)
        let seen = 0
        const admitted = new Map<string, number>()
        while (run.tick(draw)) {
          for (const d of run.decisions.slice(seen)) {
            if (d.type !== 'admit') continue
            const facts = run.facts(d.stage.name)
            expect(run.inFlight).toBeLessThanOrEqual(d.stage.prompts)
            expect(d.step).toBe(facts.closed + 1)
            expect(d.version).toBe(run.state.version)
            expect(d.version).toBe(facts.lastVersion)
            const step = `${d.stage.name}/${d.step}`
            admitted.set(step, (admitted.get(step) ?? 0) + d.count)
            expect(admitted.get(step)).toBeLessThanOrEqual(admissionBudget(d.stage))
          }
          seen = run.decisions.length
        }
      }),
    )
  })

  test('a coordinator that starts anew at any moment decides what the old one would have', () => {
    fc.assert(
      fc.property(stagesOf, exits, fates, draws, (given, exit, fate, draw) => {
        const stages = given.map((s) => (s.kind === 'rl' && exit ? { ...s, exit } : s))
        const run = new Simulation(stages, domains, fate)
        do {
          expect(decide(run.rebuilt(draw), domains)).toEqual(decide(run.state, domains))
        } while (run.tick(draw))
        expect(run.state.runEnded).toBe(true)
      }),
      { numRuns: 25 },
    )
  })
})
