import { describe, expect, test } from 'vitest'
import { parseConfig } from '../../src/cli/config.ts'

const math = {
  kind: 'rl',
  name: 'math',
  domain: 'math',
  task: 'math',
  prompts: 4,
  groupSize: 4,
  lr: 1e-4,
  warmup: 5,
  maxTokens: 24,
}

const parsed = (...stages: unknown[]) => parseConfig({ stages }, 'c.ts').stages

describe('a stage with sub-stages', () => {
  test('is as many stages, each with the fields of the whole and its own', () => {
    const exit = { clipShare: 0.1 }
    const [one, two, three, last] = parsed(
      {
        ...math,
        overlong: 'zero',
        subStages: [
          { steps: 3, overlong: 'skip', exit },
          { name: 'long', steps: 4, maxTokens: 32 },
          { steps: 5, temperature: 0.8, resetOptimizer: true, warmup: 2 },
        ],
      },
      { ...math, name: 'code', steps: 1 },
    )
    expect(one).toMatchObject({
      name: 'math-1',
      steps: 3,
      maxTokens: 24,
      overlong: 'skip',
      warmup: 5,
      resetOptimizer: true,
    })
    expect(one).toMatchObject({ exit: { clipShare: 0.1, window: 10 } })
    expect(two).toMatchObject({ name: 'long', steps: 4, maxTokens: 32, overlong: 'zero' })
    expect(three).toMatchObject({ name: 'math-3', steps: 5, temperature: 0.8 })
    expect(last).toMatchObject({ name: 'code', steps: 1 })
    expect('subStages' in one!).toBe(false)
  })

  test('goes on with the moments of the part before and without another warm-up, unless a part says otherwise', () => {
    const parts = parsed({
      ...math,
      subStages: [{ steps: 1 }, { steps: 1 }, { steps: 1, resetOptimizer: true, warmup: 2 }],
    })
    expect(parts.map((s) => [s.resetOptimizer, s.warmup])).toEqual([
      [true, 5],
      [false, 0],
      [true, 2],
    ])
  })

  test('is the same config as its parts written out', () => {
    const { name: _, ...rest } = math
    const parts = [
      { ...rest, name: 'math-1', steps: 1 },
      { ...rest, name: 'math-2', steps: 2, lr: 1e-5, warmup: 0, resetOptimizer: false },
    ]
    expect(parsed({ ...math, subStages: [{ steps: 1 }, { steps: 2, lr: 1e-5 }] })).toEqual(parsed(...parts))
  })

  test.each<[string, unknown, RegExp]>([
    [
      'no list',
      { ...math, subStages: { steps: 1 } },
      /c\.ts: stages\[0\]\.subStages: expected a list of at least one object, got \{"steps":1\}/,
    ],
    ['an empty list', { ...math, subStages: [] }, /stages\[0\]\.subStages: expected a list of at least one/],
    [
      'a field of a part',
      { ...math, subStages: [{ steps: 1 }, { steps: 0 }] },
      /stages\[0\]\.subStages\[1\]\.steps: .*got 0/,
    ],
    [
      'a field that all parts have from the stage',
      { ...math, lr: -1, subStages: [{ steps: 1 }] },
      /stages\[0\]\.lr: .*got -1/,
    ],
    ['a field that nobody gave', { ...math, subStages: [{ lr: 1 }] }, /stages\[0\]\.subStages\[0\]\.steps: /],
    ['an unknown field', { ...math, subStages: [{ steps: 1, stepz: 1 }] }, /stages\[0\].*stepz/],
    [
      'a name that comes twice',
      [
        { ...math, subStages: [{ steps: 1 }] },
        { ...math, name: 'math-1', steps: 1 },
      ],
      /expected distinct names, got math-1 twice/,
    ],
    [
      'what a part asks for and the stage cannot give',
      { ...math, subStages: [{ steps: 1, minGroups: 9 }] },
      /stages\[0\]\.subStages\[0\]\.minGroups: expected at most stages\[0\]\.prompts \(4\), got 9/,
    ],
    [
      'a verifier of a part',
      { ...math, subStages: [{ steps: 1, verifier: 'nosuch' }] },
      /stages\[0\]\.subStages\[0\]\.verifier: expected one of/,
    ],
    ['parts of parts', { ...math, subStages: [{ steps: 1, subStages: [] }] }, /subStages/],
    [
      'no object',
      { ...math, subStages: [3] },
      /stages\[0\]\.subStages: expected a list of at least one object, got \[3\]/,
    ],
  ])('is refused by the field as it was written: %s', (_, stages, message) => {
    expect(() => parsed(...[stages].flat())).toThrow(message)
  })
})
