import type { ModelConfig } from '../config.ts'
import type { GeneratedRow, GenerateRequest } from '../decode/requests.ts'
import type {
  MicroBatch,
  Scores,
  StepResult,
  TokenRows,
  TrainState,
  UpdateOptions,
} from '../train/trainer.ts'
import type { Connection } from './connection.ts'
import type { NumericProfile } from './profile.ts'
import { buffersOf, type EngineOptions } from './protocol.ts'
import { startWorker } from './start.ts'

export type { EngineOptions } from './protocol.ts'

/**
 * Training and sampling with one set of weights, in one worker thread. Calls are served in order of arrival; those that change
 * weights wait until no generation is under way, and generation waits for them. Generations that run at once share
 * one batch. Errors are `CascadeError`s; `ENGINE_FAILED` once the worker has ended.
 */
export interface Engine extends AsyncDisposable {
  readonly config: ModelConfig
  readonly profile: NumericProfile
  /** Fresh weights, a pure function of the seed, and a fresh optimiser. */
  initialise(seed: number): Promise<void>
  /**
   * Weights, moments and step count. The arrays move to the worker: the caller's are empty afterwards.
   *
   * @throws CascadeError CHECKPOINT_SHAPE, CHECKPOINT_INVALID; the engine's state is unchanged then
   */
  loadState(state: TrainState): Promise<void>
  /** A copy. */
  exportState(): Promise<TrainState>
  /** Fresh moments and step count; the weights stay. */
  resetOptimizer(): Promise<void>
  /** Keeps a copy of the current weights as the reference of {@link score}. It is not part of the state. */
  setReference(): Promise<void>
  /** One optimiser step. @throws CascadeError NUMERIC, RECORD_INVALID; nothing has changed then */
  step(micro: readonly MicroBatch[], options: UpdateOptions): Promise<StepResult>
  /** Log-probabilities and entropies of given tokens, nats. @throws CascadeError RECORD_INVALID */
  score(rows: TokenRows, temperature: number, which?: 'current' | 'reference'): Promise<Scores>
  /**
   * Samples a group and hands out its rows as they finish, in any order. Aborting rejects with the signal's reason at once
   * and frees the group's rows before the next run of the model; no row comes after that.
   *
   * @throws CascadeError RECORD_INVALID
   */
  generate(
    request: GenerateRequest,
    onRow: (index: number, row: GeneratedRow) => void,
    signal: AbortSignal,
  ): Promise<void>
}

/**
 * Starts the worker. Weights are those of seed 0 until {@link Engine.initialise} or {@link Engine.loadState}.
 *
 * @throws CascadeError ENGINE_FAILED
 */
export async function openEngine(options: EngineOptions): Promise<Engine> {
  const { connection, profile } = await startWorker(new URL('./worker', import.meta.url), options)
  return new WorkerEngine(options.config, profile, connection)
}

class WorkerEngine implements Engine {
  readonly config: ModelConfig
  readonly profile: NumericProfile
  readonly #worker: Connection

  constructor(config: ModelConfig, profile: NumericProfile, worker: Connection) {
    this.config = config
    this.profile = profile
    this.#worker = worker
  }

  initialise(seed: number): Promise<void> {
    return this.#worker.call('initialise', [seed])
  }

  loadState(state: TrainState): Promise<void> {
    return this.#worker.call('loadState', [state], { transfer: buffersOf(state) })
  }

  exportState(): Promise<TrainState> {
    return this.#worker.call('exportState', [])
  }

  resetOptimizer(): Promise<void> {
    return this.#worker.call('resetOptimizer', [])
  }

  setReference(): Promise<void> {
    return this.#worker.call('setReference', [])
  }

  step(micro: readonly MicroBatch[], options: UpdateOptions): Promise<StepResult> {
    return this.#worker.call('step', [micro, options])
  }

  score(rows: TokenRows, temperature: number, which: 'current' | 'reference' = 'current'): Promise<Scores> {
    return this.#worker.call('score', [rows, temperature, which])
  }

  async generate(
    request: GenerateRequest,
    onRow: (index: number, row: GeneratedRow) => void,
    signal: AbortSignal,
  ): Promise<void> {
    signal.throwIfAborted()
    await this.#worker.call('generate', [request], { onRow, signal })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker[Symbol.asyncDispose]()
  }
}
