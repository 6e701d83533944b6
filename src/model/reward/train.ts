import { zeroState } from '../weights/init.ts'
import { encodeAnswer } from './encode.ts'
import { RewardEngine } from './engine.ts'
import { type FitOptions, fitPairs, type PairScore, scorePairs } from './fit.ts'
import type { StartModel } from './start-model.ts'
import type { PairResult, TokenPair } from './trainer.ts'

/** A prompt with two responses, of which the first is preferred. */
export interface TextPair {
  readonly prompt: string
  readonly chosen: string
  readonly rejected: string
}

export interface TrainRewardOptions {
  start: StartModel
  pairs: readonly TextPair[]
  /** Never trained on. */
  heldOut: readonly TextPair[]
  fit: FitOptions
  /** Threads within an operator. @default the processors this process may use */
  threads?: number | undefined
  onStep?(step: number, result: PairResult): void
}

export interface TrainedReward extends StartModel {
  heldOut: PairScore
  /** The same pairs before training: chance. */
  untrained: PairScore
  /** Milliseconds of the training alone. */
  trainMs: number
}

/** For a small model on two cores. */
export const fitDefaults = {
  steps: 600,
  batch: 64,
  lr: 1e-3,
  centering: 0.01,
  betas: [0.9, 0.95],
  eps: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 1,
  warmup: 20,
  microBatchTokens: 4096,
} as const

/**
 * Trains a reward model in a worker thread of its own and scores it on pairs that it has not seen.
 *
 * @throws the signal's reason; CascadeError RECORD_INVALID for a text that the model cannot read, NUMERIC, ENGINE_FAILED
 */
export async function trainRewardModel(o: TrainRewardOptions, signal: AbortSignal): Promise<TrainedReward> {
  const { config, weights } = o.start
  const [pairs, heldOut] = [o.pairs, o.heldOut].map((list) => list.map(encodePair))
  signal.throwIfAborted()
  await using engine = await RewardEngine.open({ config, threads: o.threads })
  await engine.loadState({ weights, m: zeroState(config), v: zeroState(config), step: 0 })
  const untrained = await scorePairs(engine, heldOut!, signal)
  const began = performance.now()
  await fitPairs(engine, pairs!, o.fit, signal, o.onStep)
  const trainMs = performance.now() - began
  const score = await scorePairs(engine, heldOut!, signal)
  const state = await engine.exportState()
  return { config, weights: state.weights, heldOut: score, untrained, trainMs }
}

function encodePair({ prompt, chosen, rejected }: TextPair): TokenPair {
  return {
    chosen: encodeAnswer({ prompt, response: chosen }),
    rejected: encodeAnswer({ prompt, response: rejected }),
  }
}
