export {
  type JudgeOptions,
  type JudgeVerifier,
  judgeOptions,
  judgePrompt,
  llmJudge,
  type Question,
} from './judge.ts'
export {
  type PreferenceCase,
  preferenceCase,
  preferenceKind,
  type RewardModelOptions,
  rewardModelVerifier,
} from './reward-model.ts'
