import { type CascadeInput, defineCascade } from './config.ts'

/** Rules of both RL stages: strictly on-policy GRPO, small steps. */
const grpo = {
  kind: 'rl',
  prompts: 32,
  groupSize: 8,
  lr: 1e-4,
  warmup: 5,
  overlong: 'zero',
} as const

/** What `cascade run` trains without a config: a small model through three stages, in minutes on two cores. */
export const laptop: CascadeInput = defineCascade({
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
