export {
  type JudgeOptions,
  type JudgeVerifier,
  judgeOptions,
  judgePrompt,
  llmJudge,
  type Question,
} from './judge.ts'
