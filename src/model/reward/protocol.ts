import type { ModelConfig } from '../config.ts'
import type { CallOf } from '../engine/protocol.ts'
import type { WorkerOptions } from '../engine/start.ts'
import type { TrainState } from '../train/state.ts'
import type { PairOptions, PairResult, TokenPair } from './trainer.ts'

/** What crosses between the main thread and the worker of a reward model. */

export interface RewardEngineOptions extends WorkerOptions {
  /** With the head `reward`. */
  config: ModelConfig
}

export interface RewardOperations {
  loadState(state: TrainState): void
  exportState(): TrainState
  step(micro: readonly (readonly TokenPair[])[], options: PairOptions): PairResult
  rewards(texts: readonly Int32Array[]): Float32Array
}

export type RewardCall = CallOf<RewardOperations>
