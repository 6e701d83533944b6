import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { exitReason, lookBack } from '../../streams/exit-rule.ts'
import { exitSchema } from '../../topics/stage-spec.ts'
import { type Fate, Simulation } from './simulate.ts'
import { rlStage } from './stages.ts'

type Exit = z.input<typeof exitSchema>

/** What a stage with these rules says after steps with these rewards and clip shares. */
function after(
  exit: Exit,
  rewards: readonly (number | undefined)[],
  clips: readonly number[] = [],
  seconds = 0,
) {
  const spec = { exit: exitSchema.parse(exit) }
  const steps = rewards.map((reward, i) => ({ reward, truncated: clips[i] }))
  return exitReason(spec, { closed: steps.length, recent: steps.slice(-lookBack(spec)), seconds })
}

test('without rules a stage goes on to its last step, and nothing is looked back at', () => {
  expect(exitReason({ exit: undefined }, { closed: 99, recent: [], seconds: 1e9 })).toBeUndefined()
  expect(lookBack({ exit: undefined })).toBe(0)
  expect(lookBack({ exit: exitSchema.parse({ window: 7 }) })).toBe(14)
})

test.each<[string, Exit, (number | undefined)[], number[], number, string | undefined]>([
  ['clip share at the bound', { clipShare: 0.1, window: 2 }, [0, 0], [0.15, 0.05], 0, 'clip share'],
  ['clip share above it', { clipShare: 0.1, window: 2 }, [0, 0], [0.15, 0.06], 0, undefined],
  ['one low step is no window', { clipShare: 0.1, window: 2 }, [0], [0], 0, undefined],
  ['older steps no longer count', { clipShare: 0.1, window: 1 }, [0, 0, 0], [1, 1, 0.1], 0, 'clip share'],
  ['a plateau', { plateau: 0.01, window: 2 }, [0.5, 0.6, 0.55, 0.56], [], 0, 'plateau'],
  ['a gain above the bound', { plateau: 0.01, window: 2 }, [0.5, 0.6, 0.6, 0.6], [], 0, undefined],
  ['a fall is a plateau', { plateau: 0, window: 1 }, [0.9, 0.1], [], 0, 'plateau'],
  ['too few steps for a plateau', { plateau: 1, window: 2 }, [0, 0, 0], [], 0, undefined],
  ['a reward reached', { reward: 0.8, window: 2 }, [0.1, 0.7, 0.9], [], 0, 'reward'],
  ['a reward not reached', { reward: 0.8, window: 2 }, [0.9, 0.9, 0.6], [], 0, undefined],
  [
    'steps whose members all failed say nothing',
    { reward: 0.8, window: 2 },
    [undefined, undefined],
    [],
    0,
    undefined,
  ],
  ['time', { seconds: 60 }, [0], [], 60, 'time'],
  ['time not over', { seconds: 60 }, [0], [], 59.9, undefined],
  ['no rule before minSteps', { seconds: 60, minSteps: 3 }, [0, 0], [], 99, undefined],
  ['the first of several', { clipShare: 1, reward: 0, seconds: 1, window: 1 }, [1], [0], 9, 'clip share'],
])('%s', (_, exit, rewards, clips, seconds, reason) => {
  expect(after(exit, rewards, clips, seconds)).toBe(reason)
})

describe('a run whose stage has a rule', () => {
  const exit = { reward: 0.9, window: 2, minSteps: 1 }
  const next = rlStage({ name: 'code', domain: 'code', steps: 1 })

  function ended(exits: typeof exit | undefined, fate: Fate) {
    const run = new Simulation([rlStage({ steps: 9, exit: exits }), next], ['math'], fate)
    while (run.tick(() => 0));
    expect(run.state.runEnded).toBe(true)
    return run.decisions.flatMap((d) => (d.type === 'stage-end' ? [[d.stage, d.steps, d.reason]] : []))
  }
  // Kept groups have a mean reward of one half here, filtered ones of 1.
  const better: Fate = (stage, n) => (stage.name === 'math' && n >= 4 ? 'filtered' : 'kept')

  test('ends the stage where it holds, and the next one begins', () => {
    expect(ended(exit, better)).toEqual([
      ['math', 4, 'reward'],
      ['code', 1, 'steps'],
    ])
  })

  test('goes on to its last step where it does not hold', () => {
    expect(ended(exit, () => 'kept')).toEqual([
      ['math', 9, 'steps'],
      ['code', 1, 'steps'],
    ])
  })

  test('says why in what is recorded as the stage drains', () => {
    const run = new Simulation([rlStage({ steps: 9, exit })], ['math'], better)
    while (run.tick(() => 0));
    expect(run.decisions.find((d) => d.type === 'stage-drain')).toMatchObject({ steps: 4, reason: 'reward' })
    expect(run.rebuilt(() => 0).facts.get('math')?.drainReason).toBe('reward')
  })
})
