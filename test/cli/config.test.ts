import { expect, test } from 'vitest'
import { parseConfig } from '../../src/cli/config.ts'

const sft = { kind: 'sft', name: 'warm', domain: 'mixed', tasks: ['math'], steps: 1, batch: 2, lr: 0.1 }
const rl = {
  kind: 'rl',
  name: 'math',
  domain: 'math',
  task: 'math',
  steps: 1,
  lr: 0.1,
  prompts: 4,
  groupSize: 2,
  maxTokens: 8,
}

test('a stage that could never update is refused by field', () => {
  expect(() => parseConfig({ stages: [sft, { ...rl, minGroups: 5 }] }, 'c.ts')).toThrow(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: 'c.ts: stages[1].minGroups: expected at most stages[1].prompts (4), got 5',
    }),
  )
  expect(parseConfig({ stages: [sft, { ...rl, minGroups: 4 }] }, 'c.ts').stages[1]).toMatchObject({
    minGroups: 4,
  })
})
