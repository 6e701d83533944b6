import { defineCascade } from 'cascade-rl'

/** What `cascade run` trains without a config, to copy and change. Field by field: `src/cli/config.ts`, `topics/stage-spec.ts`. */

/** Rules of both RL stages: strictly on-policy GRPO, small steps. */
const grpo = {
  kind: 'rl',
  /** Kept groups a step, and rollouts a group. */
  prompts: 32,
  groupSize: 8,
  lr: 1e-4,
  warmup: 5,
  /** A response that is cut off at `maxTokens` scores 0. */
  overlong: 'zero',
} as const

export default defineCascade({
  model: { layers: 3, hidden: 128, heads: 4, kvHeads: 2, maxLength: 96, ropeTheta: 100 },
  stages: [
    {
      kind: 'sft',
      name: 'sft',
      domain: 'mixed',
      // Twice as much arithmetic: working a sum out takes longer to learn.
      tasks: ['instruction', 'math', 'math'],
      steps: 3000,
      batch: 32,
      lr: 1e-3,
      warmup: 30,
      schedule: 'cosine',
      checkpointEvery: 100,
    },
    { ...grpo, name: 'instruction', domain: 'instruction', task: 'instruction', steps: 100, maxTokens: 18 },
    { ...grpo, name: 'math', domain: 'math', task: 'math', steps: 100, maxTokens: 32 },
  ],
})
