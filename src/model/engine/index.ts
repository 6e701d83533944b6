export type { GeneratedRow, GenerateRequest } from '../decode/requests.ts'
export type {
  MicroBatch,
  Scores,
  StepResult,
  TokenRows,
  TrainState,
  UpdateOptions,
} from '../train/trainer.ts'
export { type Engine, type EngineOptions, openEngine } from './engine.ts'
export type { NumericProfile } from './profile.ts'
