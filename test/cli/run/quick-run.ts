import type { CascadeInput } from '../../../src/cli/config.ts'
import type { StageInput } from '../../../topics/index.ts'

/** A run of two stages and about two seconds, for tests of what happens around the learning. */
export function quickRun(
  change: { sft?: Partial<StageInput>; rl?: Partial<StageInput>; prompts?: number; init?: string } = {},
): CascadeInput {
  const { sft, rl, prompts = 4, init } = change
  const first = { kind: 'sft', name: 'sft', domain: 'math', tasks: ['math'], steps: 3, batch: 4, lr: 1e-3 }
  const second = { kind: 'rl', name: 'rl', domain: 'math', task: 'math', steps: 2, prompts: 2, groupSize: 2 }
  return {
    model: { layers: 1, hidden: 64, heads: 4, kvHeads: 2, maxLength: 64, ...(init ? { init } : {}) },
    evaluation: { prompts },
    stages: [
      { ...first, checkpointEvery: 2, ...sft } as StageInput,
      { ...second, lr: 1e-4, maxTokens: 20, ...rl } as StageInput,
    ],
  }
}
