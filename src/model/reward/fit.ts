import { learningRate } from '../../../streams/learning-rate.ts'
import { shuffled } from '../../tasks/shuffle.ts'
import type { RewardEngine } from './engine.ts'
import type { PairOptions, PairResult, TokenPair } from './trainer.ts'

export interface FitOptions extends PairOptions {
  steps: number
  /** Pairs a step. */
  batch: number
  /** Steps over which the learning rate rises; then it falls to 0 along a cosine. */
  warmup: number
  /** Of the order of the pairs. */
  seed: number
  /** Tokens of a micro-batch at most, padding included. */
  microBatchTokens: number
}

/**
 * Trains on the pairs, epoch after epoch in an order of its own each. A pure function of its arguments, up to the numeric profile.
 *
 * @throws the signal's reason; CascadeError NUMERIC, RECORD_INVALID
 */
export async function fitPairs(
  engine: RewardEngine,
  pairs: readonly TokenPair[],
  options: FitOptions,
  signal: AbortSignal,
  onStep: (step: number, result: PairResult) => void = () => undefined,
): Promise<void> {
  const { steps, batch, warmup, seed, lr, microBatchTokens } = options
  let epoch = -1
  let order: Uint32Array = new Uint32Array()
  for (let step = 1; step <= steps; step++) {
    signal.throwIfAborted()
    const chosen = Array.from({ length: batch }, (_, i) => {
      const n = (step - 1) * batch + i
      if (Math.floor(n / pairs.length) !== epoch) {
        epoch = Math.floor(n / pairs.length)
        order = shuffled(pairs.length, 'reward-model', seed, epoch)
      }
      return pairs[order[n % pairs.length]!]!
    })
    const rate = learningRate({ lr, warmup, steps, schedule: 'cosine' }, step)
    const micro = microBatches(chosen, microBatchTokens)
    onStep(step, await engine.step(micro, { ...options, lr: rate }))
  }
}

/** Pairs of like length together, so that little is padding. */
function microBatches(pairs: readonly TokenPair[], tokens: number): TokenPair[][] {
  const length = ({ chosen, rejected }: TokenPair) => Math.max(chosen.length, rejected.length)
  const sorted = pairs.toSorted((a, b) => length(a) - length(b))
  const parts: TokenPair[][] = [[]]
  for (const pair of sorted) {
    const last = parts.at(-1)!
    if (last.length > 0 && 2 * (last.length + 1) * length(pair) > tokens) parts.push([pair])
    else last.push(pair)
  }
  return parts
}

/** What held-out pairs say of a model. */
export interface PairScore {
  pairs: number
  /** Whose chosen text has the higher reward; half of those of equal rewards, which are nobody's guess. */
  right: number
  /** Mean difference of rewards. */
  margin: number
}

/** @throws the signal's reason; CascadeError RECORD_INVALID */
export async function scorePairs(
  engine: RewardEngine,
  pairs: readonly TokenPair[],
  signal: AbortSignal,
): Promise<PairScore> {
  const rewards = await engine.rewards(
    pairs.flatMap(({ chosen, rejected }) => [chosen, rejected]),
    signal,
  )
  let [right, margin] = [0, 0]
  for (let i = 0; i < rewards.length; i += 2) {
    const difference = rewards[i]! - rewards[i + 1]!
    right += difference > 0 ? 1 : difference === 0 ? 0.5 : 0
    margin += difference / pairs.length
  }
  return { pairs: pairs.length, right, margin }
}
