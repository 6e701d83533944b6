import { CascadeError } from '../../../topics/errors.ts'
import type { ModelConfig } from '../config.ts'
import type { AdamOptions } from '../graph/adamw.ts'
import { type PairStatName, pairGradients, pairStatNames, rewardGraph } from '../graph/reward-graph.ts'
import { accumulateGraph, applyGraph, updateGraph } from '../graph/update-graph.ts'
import { Optimizer } from '../train/optimizer.ts'
import { reported } from '../train/result.ts'
import { LazySessions, type SessionOptions, scalar, type Tensors, vector } from '../train/sessions.ts'
import type { TrainState } from '../train/state.ts'
import type { TensorMap } from '../weights/init.ts'
import { columnsOf, textFeeds } from './texts.ts'

/** Two texts as tokens, of which the first is preferred. */
export interface TokenPair {
  chosen: Int32Array
  rejected: Int32Array
}

export interface PairOptions extends AdamOptions {
  /** Weight of the mean of `(chosen + rejected)^2`; 0 leaves the level of rewards open. */
  centering: number
}

/** Means are over the pairs of the step. */
export interface PairResult {
  loss: number
  /** Global gradient norm before clipping. */
  gradNorm: number
  /** Share of pairs whose chosen text has the higher reward. */
  accuracy: number
  /** Mean difference of rewards. */
  margin: number
  /** Mean reward. */
  level: number
  pairs: number
}

/** Tokens of one pass at most, padding included. */
const passTokens = 16_384

/** Weights of a reward model over onnxruntime sessions. Its runs block their thread, so it lives in a worker. */
export class RewardTrainer {
  readonly config: ModelConfig
  readonly #sessions: LazySessions<'update' | 'accumulate' | 'apply' | 'reward'>
  readonly #optimizer: Optimizer<'update' | 'accumulate'>

  /** @throws CascadeError MODEL_INVALID for a model without the head `reward` */
  constructor(config: ModelConfig, options: { weights: TensorMap; session?: SessionOptions }) {
    if (config.head !== 'reward') {
      throw new CascadeError('MODEL_INVALID', 'head: expected reward, got that of a language model')
    }
    this.config = config
    this.#sessions = new LazySessions(
      {
        update: () => updateGraph(config, pairGradients),
        accumulate: () => accumulateGraph(config, pairGradients),
        apply: () => applyGraph(config),
        reward: () => rewardGraph(config),
      },
      options.session ?? {},
    )
    this.#optimizer = new Optimizer(config, this.#sessions, pairStatNames, options.weights)
  }

  /**
   * One optimiser step over all micro-batches together; each pair counts the same.
   *
   * @throws CascadeError NUMERIC when loss or gradient norm is not finite; nothing has changed then. RECORD_INVALID for a step
   * without a pair or texts that the model cannot read; ENGINE_FAILED
   */
  async step(micro: readonly (readonly TokenPair[])[], options: PairOptions): Promise<PairResult> {
    const pairs = micro.reduce((sum, m) => sum + m.length, 0)
    if (pairs === 0) throw new CascadeError('RECORD_INVALID', 'step: expected at least one pair, got none')
    const parts = micro
      .filter((m) => m.length > 0)
      .map(
        (m) =>
          ({ update: 'update', accumulate: 'accumulate', feeds: this.#feeds(m, pairs, options) }) as const,
      )
    return this.#optimizer.step(parts, options, (results) => summarize(results, pairs))
  }

  /**
   * The reward of each text, whose bits do not depend on what else is asked for.
   *
   * @throws CascadeError RECORD_INVALID, ENGINE_FAILED
   */
  async rewards(texts: readonly Int32Array[]): Promise<Float32Array> {
    const byColumns = new Map<number, number[]>()
    for (const [i, { length }] of texts.entries()) {
      const cols = columnsOf(length, this.config)
      const places = byColumns.get(cols)
      if (places) places.push(i)
      else byColumns.set(cols, [i])
    }
    const rewards = new Float32Array(texts.length)
    for (const [cols, places] of byColumns) {
      const rows = Math.max(2, Math.floor(passTokens / Math.max(1, cols)))
      for (let from = 0; from < places.length; from += rows) {
        const part = places.slice(from, from + rows)
        const given = part.map((i) => texts[i]!)
        // A row alone is multiplied by another kernel, which rounds differently.
        if (given.length === 1) given.push(given[0]!)
        const feeds = { ...this.#optimizer.weights, ...textFeeds(given, this.config) }
        const out = await this.#sessions.run('reward', feeds, { rewards: null })
        for (const [k, i] of part.entries()) rewards[i] = (out.rewards!.data as Float32Array)[k]!
      }
    }
    return rewards
  }

  /** A copy of all that a step changes. */
  exportState(): TrainState {
    return this.#optimizer.exportState()
  }

  /** @throws CascadeError CHECKPOINT_SHAPE or CHECKPOINT_INVALID (step count); nothing has changed then */
  loadState(state: TrainState): void {
    this.#optimizer.loadState(state)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sessions[Symbol.asyncDispose]()
  }

  #feeds(micro: readonly TokenPair[], pairs: number, { centering }: PairOptions): Tensors {
    return {
      ...textFeeds(
        micro.flatMap(({ chosen, rejected }) => [chosen, rejected]),
        this.config,
      ),
      weights: vector(new Float32Array(micro.length).fill(1 / pairs)),
      centering: scalar(centering),
    }
  }
}

/** The result of a step from what its runs report. */
function summarize(results: readonly Tensors[], pairs: number): PairResult {
  const values = (name: PairStatName | 'grad_norm') => reported(results, name)
  const sum = (name: PairStatName) => values(name).reduce((a, b) => a + b, 0)
  return {
    loss: sum('loss'),
    gradNorm: values('grad_norm')[0]!,
    accuracy: sum('right') / pairs,
    margin: sum('margin') / pairs,
    level: sum('level') / (2 * pairs),
    pairs,
  }
}
