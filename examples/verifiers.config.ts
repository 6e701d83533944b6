import { defineCascade } from 'cascade-rl'

/**
 * Stages that are rewarded by verifiers of the config's own, to copy and change. Field by field: `src/verifiers/configured/schema.ts`.
 * Only those that a stage names, and what they are made of, are opened: of the rest, take what you need.
 */
export default defineCascade({
  model: { layers: 3, hidden: 128, heads: 4, kvHeads: 2, maxLength: 96, ropeTheta: 100 },
  stages: [
    {
      kind: 'sft',
      name: 'sft',
      domain: 'mixed',
      tasks: ['math'],
      steps: 1500,
      batch: 32,
      lr: 1e-3,
      warmup: 30,
      schedule: 'cosine',
      checkpointEvery: 100,
    },
    {
      kind: 'rl',
      name: 'math',
      domain: 'math',
      task: 'math',
      // Rewards come from here; held-out prompts are still scored by the task's own verifier.
      verifier: 'brief',
      steps: 50,
      prompts: 32,
      groupSize: 8,
      maxTokens: 32,
      lr: 1e-4,
      warmup: 5,
    },
  ],
  verifiers: {
    /** Your own module, in processes of its own. */
    stricter: {
      kind: 'file',
      file: './stricter.ts',
      options: { partial: 0.1 },
      wallMs: 1_000,
      memoryMb: 256,
    },
    /** Right answers count, short ones a little more; each part stands in the reward records. */
    brief: {
      kind: 'composite',
      parts: [
        { verifier: 'stricter', weight: 1 },
        // Recorded, without weight.
        { verifier: 'sum', weight: 0 },
      ],
      length: { free: 20, full: 32, most: 0.2 },
    },

    /** The kinds of `cascade verify`. */
    answers: { kind: 'math' },
    followed: { kind: 'instruction', mode: 'loose', share: true },
    tests: {
      kind: 'code',
      language: 'python',
      partial: true,
      sandbox: 'wasm',
      timeoutMs: 5_000,
      concurrency: 2,
    },
    change: { kind: 'patch', fuzz: 1, formatPenalty: -1 },

    /** A reward server that you have. The token is read from the environment and stored nowhere. */
    server: {
      kind: 'remote',
      url: 'http://127.0.0.1:8000/',
      version: '2026-01',
      headersEnv: { authorization: 'REWARD_TOKEN' },
      concurrency: 16,
    },
    /** A language model behind an OpenAI-compatible endpoint. */
    graded: {
      kind: 'judge',
      url: 'http://127.0.0.1:8001/v1',
      model: 'qwen3-32b',
      criteria: 'The answer is right, and each step follows from the one before.',
      apiKeyEnv: 'JUDGE_KEY',
      requestsPerMinute: 600,
      budget: { requests: 100_000 },
    },
    /** Asked only where the tests pass. */
    both: {
      kind: 'composite',
      parts: [
        { verifier: 'tests', weight: 0, gate: { atLeast: 1, otherwise: 0 } },
        { verifier: 'graded', weight: 1 },
      ],
    },
  },
})
