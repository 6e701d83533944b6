import { describe, expect, test } from 'vitest'
import { StageSettings, settableFields, settingFault, withSettings } from '../../streams/stage-settings.ts'
import type { StageSetting } from '../../topics/index.ts'
import { rlStage, sftStage } from './stages.ts'

const set = (field: string, value: number, step: number, over: Partial<StageSetting> = {}): StageSetting => ({
  type: 'set',
  epoch: 1,
  seq: 0,
  id: `${field}-${step}`,
  stage: 'math',
  field,
  value,
  step,
  ...over,
})

describe('settings of a stage', () => {
  test('hold from their step on, the last of each field', () => {
    const settings = new StageSettings()
    for (const s of [set('lr', 0.1, 2), set('lr', 0.2, 4), set('topP', 0.9, 3)]) settings.apply(s)
    expect([1, 2, 3, 4].map((step) => settings.at('math', step))).toEqual([
      undefined,
      { lr: 0.1 },
      { lr: 0.1, topP: 0.9 },
      { lr: 0.2, topP: 0.9 },
    ])
    expect(settings.at('code', 9)).toBeUndefined()
  })

  test('that were refused hold for nothing', () => {
    const settings = new StageSettings()
    settings.apply(set('lr', 0.1, 1, { refused: 'no' }))
    expect(settings.at('math', 1)).toBeUndefined()
  })

  test('take the place of what the stage says, and leave it as it was', () => {
    const stage = rlStage({ lr: 0.4 })
    expect(withSettings(stage, { lr: 0.1 })).toEqual({ ...stage, lr: 0.1 })
    expect(stage.lr).toBe(0.4)
    expect(withSettings(stage)).toEqual(stage)
  })
})

describe('what may be set', () => {
  const stages = [sftStage(), rlStage({ prompts: 2 })]
  const fault = (stage: string, field: string, value: number) => settingFault(stages, { stage, field, value })

  test('every listed field, with a value that its stage allows', () => {
    for (const stage of stages) {
      for (const field of settableFields(stage.kind)) expect(fault(stage.name, field, 1)).toBeUndefined()
    }
  })

  test.each<[string, string, number, RegExp]>([
    ['nosuch', 'lr', 1, /^nosuch: expected one of the stages sft, math, got nosuch$/],
    ['math', 'prompts', 1, /^math\.prompts: expected one of lr, .*, got prompts$/],
    [
      'sft',
      'temperature',
      1,
      /^sft\.temperature: expected one of lr, weightDecay, maxGradNorm, checkpointEvery, got temperature$/,
    ],
    ['math', 'lr', -1, /^math\.lr: .*, got -1$/],
    ['math', 'topP', 1.5, /^math\.topP: .*, got 1\.5$/],
    ['math', 'topK', 0.5, /^math\.topK: .*, got 0\.5$/],
    ['math', 'minGroups', 3, /^math\.minGroups: expected at most prompts \(2\), got 3$/],
  ])('%s.%s=%d is refused by name', (stage, field, value, message) => {
    expect(fault(stage, field, value)).toMatch(message)
  })
})
