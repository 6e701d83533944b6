import { CascadeError } from '../../../topics/errors.ts'
import type { ModelConfig } from '../config.ts'
import type { AdamOptions } from '../graph/adamw.ts'
import { lossGradients, statNames } from '../graph/loss.ts'
import { scoreGraph } from '../graph/score-graph.ts'
import { accumulateGraph, applyGraph, updateGraph } from '../graph/update-graph.ts'
import type { TensorMap } from '../weights/init.ts'
import { type MicroBatch, type PackedRows, packRows, type TokenRows } from './batch.ts'
import { type LossOptions, lossFeeds, rowFeeds } from './feeds.ts'
import { Optimizer } from './optimizer.ts'
import { type StepResult, summarize } from './result.ts'
import { LazySessions, type SessionOptions, type Tensors } from './sessions.ts'
import { type TrainState, toTensors } from './state.ts'

export type { MicroBatch, TokenRows } from './batch.ts'
export type { StepResult } from './result.ts'
export type { TrainState } from './state.ts'

export interface UpdateOptions extends AdamOptions, LossOptions {}

export interface Scores {
  /** `[rows * cols]`, nats; 0 where `lossMask` is 0. */
  logProbs: Float32Array
  entropy: Float32Array
}

export interface TrainerOptions {
  /** Starting weights by parameter name; copied. */
  weights: TensorMap
  /** Thread counts, execution providers and so on. Part of the numeric profile. */
  session?: SessionOptions
}

type GraphName = Forward | `${Forward}, shared prompts`
type Forward = 'update' | 'accumulate' | 'score'

/** The graph for a layout, as its feeds show it. */
function graphFor(name: Forward, feeds: Tensors): GraphName {
  return 'prompt_tokens' in feeds ? `${name}, shared prompts` : name
}

/**
 * Weights and optimiser state over onnxruntime sessions. Its runs block their thread, so it lives in a worker.
 * With the same sessions options, state and batches it gives the same bits.
 */
export class Trainer {
  readonly config: ModelConfig
  readonly #sessions: LazySessions<GraphName | 'apply'>
  readonly #optimizer: Optimizer<GraphName>
  #reference: Tensors | undefined

  constructor(config: ModelConfig, options: TrainerOptions) {
    this.config = config
    this.#sessions = new LazySessions(
      {
        update: () => updateGraph(config, lossGradients(false)),
        'update, shared prompts': () => updateGraph(config, lossGradients(true)),
        accumulate: () => accumulateGraph(config, lossGradients(false)),
        'accumulate, shared prompts': () => accumulateGraph(config, lossGradients(true)),
        apply: () => applyGraph(config),
        score: () => scoreGraph(config, false),
        'score, shared prompts': () => scoreGraph(config, true),
      },
      options.session ?? {},
    )
    this.#optimizer = new Optimizer(config, this.#sessions, statNames, options.weights)
  }

  /** Steps applied so far. */
  get steps(): number {
    return this.#optimizer.steps
  }

  /** The current weights themselves, by parameter name. Another set holds them after the next step or load. */
  get weights(): Tensors {
    return this.#optimizer.weights
  }

  /**
   * One optimiser step over all micro-batches together. Micro-batches without a trained token are skipped.
   *
   * @throws CascadeError NUMERIC when loss or gradient norm is not finite; nothing has changed then.
   * RECORD_INVALID for a malformed batch or one without a trained token; ENGINE_FAILED
   */
  async step(batch: MicroBatch | readonly MicroBatch[], options: UpdateOptions): Promise<StepResult> {
    const micro = (Array.isArray(batch) ? batch : [batch]) as readonly MicroBatch[]
    const packed = micro.map((m) => ({ m, p: this.#pack(m) })).filter(({ p }) => p.source.length > 0)
    const tokens = packed.reduce((sum, { p }) => sum + p.source.length, 0)
    if (tokens === 0)
      throw new CascadeError('RECORD_INVALID', 'batch: expected at least one trained token, got none')
    const parts = packed.map(({ m, p }) => {
      const feeds = lossFeeds(m, p, options, tokens)
      return { update: graphFor('update', feeds), accumulate: graphFor('accumulate', feeds), feeds }
    })
    return this.#optimizer.step(parts, options, (results) => summarize(results, tokens))
  }

  /**
   * Log-probabilities and entropies of the tokens that `lossMask` asks for, under the current weights or the
   * reference that {@link setReference} froze.
   *
   * @throws CascadeError RECORD_INVALID; ENGINE_FAILED, also where there is no reference yet
   */
  async score(
    batch: TokenRows,
    temperature = 1,
    which: 'current' | 'reference' = 'current',
  ): Promise<Scores> {
    const weights = which === 'current' ? this.weights : this.#reference
    if (!weights) throw new CascadeError('ENGINE_FAILED', 'score: expected a reference to be set, got none')
    const packed = this.#pack(batch)
    const scores = {
      logProbs: new Float32Array(batch.tokens.length),
      entropy: new Float32Array(batch.tokens.length),
    }
    if (packed.source.length === 0) return scores
    const feeds: Tensors = { ...weights, ...rowFeeds(packed, temperature) }
    const out = await this.#sessions.run(graphFor('score', feeds), feeds, { log_probs: null, entropy: null })
    const [logProbs, entropy] = [out.log_probs!.data as Float32Array, out.entropy!.data as Float32Array]
    for (const [i, at] of packed.source.entries()) {
      scores.logProbs[at] = logProbs[i]!
      scores.entropy[at] = entropy[i]!
    }
    return scores
  }

  /**
   * Freezes a copy of the weights, by default the current ones, as the policy that the KL term is measured from.
   *
   * @throws CascadeError CHECKPOINT_SHAPE; nothing has changed then
   */
  setReference(weights: TensorMap = this.exportWeights()): void {
    this.#reference = toTensors(this.config, weights)
  }

  /** Forgets the moments and counts steps from 0 again, as at the start of a stage. The weights stay. */
  resetOptimizer(): void {
    this.#optimizer.reset()
  }

  /** A copy of the weights. */
  exportWeights(): TensorMap {
    return this.#optimizer.exportWeights()
  }

  /** A copy of all that a step changes. The reference is not part of it. */
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

  #pack(rows: TokenRows): PackedRows {
    return packRows(rows, { vocab: this.config.vocab_size, positions: this.config.max_position_embeddings })
  }
}
