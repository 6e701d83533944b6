import type ort from 'onnxruntime-node'
import { CascadeError } from '../../../topics/errors.ts'
import { type ModelConfig, parameters } from '../config.ts'
import { type AdamOptions, adamScalars } from '../graph/adamw.ts'
import { statNames } from '../graph/loss.ts'
import { scoreGraph } from '../graph/score-graph.ts'
import { accumulateGraph, applyGraph, updateGraph } from '../graph/update-graph.ts'
import { type TensorMap, zeroState } from '../weights/init.ts'
import { type MicroBatch, type PackedRows, packRows, type TokenRows } from './batch.ts'
import { type LossOptions, lossFeeds, rowFeeds } from './feeds.ts'
import { type StepResult, summarize } from './result.ts'
import { LazySessions, type SessionOptions, scalar, type Tensors } from './sessions.ts'
import {
  type Buffers,
  emptyBuffers,
  fromBuffers,
  type TrainState,
  toBuffers,
  toMap,
  toTensors,
} from './state.ts'

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

type GraphName = Forward | `${Forward}, shared prompts` | 'apply'
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
  readonly #sessions: LazySessions<GraphName>
  #current: Buffers
  /** Where the next step's results go. Swapped with `#current` only once the step is known to be sound. */
  #spare: Buffers
  #sums: [Tensors, Tensors] | undefined
  #reference: Tensors | undefined
  #step = 0

  constructor(config: ModelConfig, options: TrainerOptions) {
    this.config = config
    this.#sessions = new LazySessions(
      {
        update: () => updateGraph(config, false),
        'update, shared prompts': () => updateGraph(config, true),
        accumulate: () => accumulateGraph(config, false),
        'accumulate, shared prompts': () => accumulateGraph(config, true),
        apply: () => applyGraph(config),
        score: () => scoreGraph(config, false),
        'score, shared prompts': () => scoreGraph(config, true),
      },
      options.session ?? {},
    )
    this.#current = toBuffers(config, {
      weights: options.weights,
      m: zeroState(config),
      v: zeroState(config),
    })
    this.#spare = emptyBuffers(config)
  }

  /** Steps applied so far. */
  get steps(): number {
    return this.#step
  }

  /** The current weights themselves, by parameter name. Another set holds them after the next step or load. */
  get weights(): Tensors {
    return this.#weights()
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
    const feeds = packed.map(({ m, p }) => lossFeeds(m, p, options, tokens))
    const adam = Object.fromEntries(
      Object.entries(adamScalars(options, this.#step + 1)).map(([name, value]) => [name, scalar(value)]),
    )
    const results =
      feeds.length === 1
        ? [
            await this.#sessions.run(
              graphFor('update', feeds[0]!),
              { ...this.#current, ...feeds[0], ...adam },
              this.#updateFetches(true),
            ),
          ]
        : await this.#accumulated(feeds, adam)
    const result = summarize(results, tokens)
    for (const name of ['loss', 'gradNorm'] as const) {
      if (Number.isFinite(result[name])) continue
      throw new CascadeError(
        'NUMERIC',
        `step ${this.#step + 1}: expected a finite ${name}, got ${result[name]}`,
        {
          context: { ...result },
        },
      )
    }
    ;[this.#current, this.#spare] = [this.#spare, this.#current]
    this.#step += 1
    return result
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
    const weights = which === 'current' ? this.#weights() : this.#reference
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
    for (const { name } of parameters(this.config)) {
      for (const moment of ['m', 'v']) (this.#current[`${moment}.${name}`]!.data as Float32Array).fill(0)
    }
    this.#step = 0
  }

  /** A copy of the weights. */
  exportWeights(): TensorMap {
    return toMap(this.config, this.#current)
  }

  /** A copy of all that a step changes. The reference is not part of it. */
  exportState(): TrainState {
    return fromBuffers(this.config, this.#current, this.#step)
  }

  /** @throws CascadeError CHECKPOINT_SHAPE or CHECKPOINT_INVALID (step count); nothing has changed then */
  loadState(state: TrainState): void {
    if (!Number.isSafeInteger(state.step) || state.step < 0) {
      throw new CascadeError('CHECKPOINT_INVALID', `step: expected a whole number from 0, got ${state.step}`)
    }
    this.#current = toBuffers(this.config, state)
    this.#step = state.step
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sessions[Symbol.asyncDispose]()
  }

  #pack(rows: TokenRows): PackedRows {
    return packRows(rows, { vocab: this.config.vocab_size, positions: this.config.max_position_embeddings })
  }

  #weights(): Tensors {
    return Object.fromEntries(parameters(this.config).map((p) => [p.name, this.#current[p.name]!]))
  }

  #updateFetches(withStats: boolean): Record<string, ort.Tensor | null> {
    const into = Object.entries(this.#spare).map(([name, tensor]) => [`next.${name}`, tensor])
    const stats = withStats ? statNames.map((name) => [name, null]) : []
    return Object.fromEntries([...into, ...stats, ['grad_norm', null]])
  }

  async #accumulated(feeds: readonly Tensors[], adam: Tensors): Promise<Tensors[]> {
    const weights = this.#weights()
    const specs = parameters(this.config)
    this.#sums ??= [emptyBuffers(this.config), emptyBuffers(this.config)]
    let [sums, next] = this.#sums
    for (const { name } of specs) (sums[name]!.data as Float32Array).fill(0)
    const results: Tensors[] = []
    const named = (prefix: string, from: Tensors) => specs.map((p) => [`${prefix}${p.name}`, from[p.name]!])
    for (const feed of feeds) {
      const into = Object.fromEntries([...named('sum.', next), ...statNames.map((name) => [name, null])])
      const given = Object.fromEntries(named('grad.', sums))
      results.push(
        await this.#sessions.run(graphFor('accumulate', feed), { ...weights, ...feed, ...given }, into),
      )
      ;[sums, next] = [next, sums]
    }
    const given = Object.fromEntries(named('grad.', sums))
    const applied = { ...this.#current, ...given, ...adam }
    results.push(await this.#sessions.run('apply', applied, this.#updateFetches(false)))
    return results
  }
}
