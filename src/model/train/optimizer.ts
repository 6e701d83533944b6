import type ort from 'onnxruntime-node'
import { CascadeError } from '../../../topics/errors.ts'
import { type ModelConfig, parameters } from '../config.ts'
import { type AdamOptions, adamScalars } from '../graph/adamw.ts'
import { type TensorMap, zeroState } from '../weights/init.ts'
import { type LazySessions, scalar, type Tensors } from './sessions.ts'
import { type Buffers, emptyBuffers, fromBuffers, type TrainState, toBuffers, toMap } from './state.ts'

/** One micro-batch, and the graphs for it. */
export interface Part<Name> {
  /** For a step that has no other part. */
  update: Name
  /** For one of several. */
  accumulate: Name
  feeds: Tensors
}

type Sessions<Name extends string> = Pick<LazySessions<Name | 'apply'>, 'run'>

/**
 * Weights and AdamW state, stepped by the graphs of `update-graph.ts` whatever their loss. A step is computed aside and holds only once
 * it is accepted.
 */
export class Optimizer<Name extends string> {
  readonly #config: ModelConfig
  readonly #sessions: Sessions<Name>
  readonly #stats: readonly string[]
  #current: Buffers
  /** Where the next step's results go. Swapped with `#current` only once the step is known to be sound. */
  #spare: Buffers
  #sums: [Tensors, Tensors] | undefined
  #step = 0

  /** `stats`: the scalar outputs of its graphs. The weights are copied. */
  constructor(config: ModelConfig, sessions: Sessions<Name>, stats: readonly string[], weights: TensorMap) {
    this.#config = config
    this.#sessions = sessions
    this.#stats = stats
    this.#current = toBuffers(config, { weights, m: zeroState(config), v: zeroState(config) })
    this.#spare = emptyBuffers(config)
  }

  /** Steps applied so far. */
  get steps(): number {
    return this.#step
  }

  /** The current weights themselves, by parameter name. Another set holds them after the next step or load. */
  get weights(): Tensors {
    return Object.fromEntries(parameters(this.#config).map((p) => [p.name, this.#current[p.name]!]))
  }

  /**
   * One step over all parts together, at least one. `summarize` makes its result from what the runs report.
   *
   * @throws CascadeError NUMERIC when loss or gradient norm is not finite, ENGINE_FAILED; nothing has changed then
   */
  async step<R extends { loss: number; gradNorm: number }>(
    parts: readonly Part<Name>[],
    options: AdamOptions,
    summarize: (results: readonly Tensors[]) => R,
  ): Promise<R> {
    const adam = Object.fromEntries(
      Object.entries(adamScalars(options, this.#step + 1)).map(([name, value]) => [name, scalar(value)]),
    )
    const results =
      parts.length === 1 ? [await this.#updated(parts[0]!, adam)] : await this.#accumulated(parts, adam)
    const result = summarize(results)
    for (const name of ['loss', 'gradNorm'] as const) {
      if (Number.isFinite(result[name])) continue
      throw new CascadeError(
        'NUMERIC',
        `step ${this.#step + 1}: expected a finite ${name}, got ${result[name]}`,
        { context: { ...result } },
      )
    }
    ;[this.#current, this.#spare] = [this.#spare, this.#current]
    this.#step += 1
    return result
  }

  /** Forgets the moments and counts steps from 0 again. The weights stay. */
  reset(): void {
    for (const { name } of parameters(this.#config)) {
      for (const moment of ['m', 'v']) (this.#current[`${moment}.${name}`]!.data as Float32Array).fill(0)
    }
    this.#step = 0
  }

  /** A copy of the weights. */
  exportWeights(): TensorMap {
    return toMap(this.#config, this.#current)
  }

  /** A copy of all that a step changes. */
  exportState(): TrainState {
    return fromBuffers(this.#config, this.#current, this.#step)
  }

  /** @throws CascadeError CHECKPOINT_SHAPE or CHECKPOINT_INVALID (step count); nothing has changed then */
  loadState(state: TrainState): void {
    if (!Number.isSafeInteger(state.step) || state.step < 0) {
      throw new CascadeError('CHECKPOINT_INVALID', `step: expected a whole number from 0, got ${state.step}`)
    }
    this.#current = toBuffers(this.#config, state)
    this.#step = state.step
  }

  #updated({ update, feeds }: Part<Name>, adam: Tensors): Promise<Tensors> {
    return this.#sessions.run(update, { ...this.#current, ...feeds, ...adam }, this.#fetches(this.#stats))
  }

  #fetches(stats: readonly string[]): Record<string, ort.Tensor | null> {
    const into = Object.entries(this.#spare).map(([name, tensor]) => [`next.${name}`, tensor])
    return Object.fromEntries([...into, ...stats.map((name) => [name, null]), ['grad_norm', null]])
  }

  async #accumulated(parts: readonly Part<Name>[], adam: Tensors): Promise<Tensors[]> {
    const { weights } = this
    const specs = parameters(this.#config)
    this.#sums ??= [emptyBuffers(this.#config), emptyBuffers(this.#config)]
    let [sums, next] = this.#sums
    for (const { name } of specs) (sums[name]!.data as Float32Array).fill(0)
    const results: Tensors[] = []
    const named = (prefix: string, from: Tensors) => specs.map((p) => [`${prefix}${p.name}`, from[p.name]!])
    for (const { accumulate, feeds } of parts) {
      const into = Object.fromEntries([...named('sum.', next), ...this.#stats.map((name) => [name, null])])
      const given = Object.fromEntries(named('grad.', sums))
      results.push(await this.#sessions.run(accumulate, { ...weights, ...feeds, ...given }, into))
      ;[sums, next] = [next, sums]
    }
    const given = Object.fromEntries(named('grad.', sums))
    const applied = { ...this.#current, ...given, ...adam }
    results.push(await this.#sessions.run('apply', applied, this.#fetches([])))
    return results
  }
}
