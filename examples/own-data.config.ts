import { defineCascade } from 'cascade-rl'

/**
 * Prompts of your own: rows of a JSON Lines file in the shape of GSM8K, `{"question", "answer": "… #### 72"}`. Supervised on the answers,
 * then rewarded by the value of the final one. Field by field: `src/tasks/schema.ts`.
 */
export default defineCascade({
  model: { layers: 3, hidden: 128, heads: 4, kvHeads: 2, maxLength: 512, ropeTheta: 1000 },
  tasks: {
    word: {
      kind: 'jsonl',
      path: './word-problems.jsonl',
      prompt: 'question',
      truth: 'answer',
      response: 'answer',
      verifier: 'math',
      // Texts outside the alphabet of the small model's tokenizer, which has one token a printable ASCII character.
      badRows: 'skip',
    },
  },
  evaluation: { prompts: 4 },
  stages: [
    {
      kind: 'sft',
      name: 'sft',
      domain: 'mixed',
      tasks: ['word'],
      steps: 400,
      batch: 8,
      lr: 1e-3,
      warmup: 30,
    },
    {
      kind: 'rl',
      name: 'word',
      domain: 'word',
      task: 'word',
      steps: 20,
      prompts: 8,
      groupSize: 8,
      maxTokens: 128,
      lr: 1e-4,
      warmup: 5,
    },
  ],
})
