import { type CascadeInput, defineCascade } from './config.ts'

/** What `cascade run` trains without a config: a small model through three stages, in minutes on two cores. */
export const laptop: CascadeInput = defineCascade({
  model: { layers: 4, hidden: 128, heads: 4, kvHeads: 2, maxLength: 96 },
  stages: [
    {
      kind: 'sft',
      name: 'sft',
      domain: 'mixed',
      tasks: ['instruction', 'math'],
      steps: 300,
      batch: 64,
      lr: 3e-3,
      warmup: 20,
      schedule: 'cosine',
    },
    {
      kind: 'rl',
      name: 'instruction',
      domain: 'instruction',
      task: 'instruction',
      steps: 40,
      prompts: 16,
      groupSize: 8,
      maxTokens: 48,
      lr: 5e-4,
    },
    {
      kind: 'rl',
      name: 'math',
      domain: 'math',
      task: 'math',
      steps: 60,
      prompts: 16,
      groupSize: 8,
      maxTokens: 36,
      lr: 5e-4,
    },
  ],
})
