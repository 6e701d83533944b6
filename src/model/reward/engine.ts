import type { ModelConfig } from '../config.ts'
import type { Connection } from '../engine/connection.ts'
import type { NumericProfile } from '../engine/profile.ts'
import { buffersOf } from '../engine/protocol.ts'
import { startWorker } from '../engine/start.ts'
import type { TrainState } from '../train/state.ts'
import type { RewardEngineOptions, RewardOperations } from './protocol.ts'
import type { PairOptions, PairResult, TokenPair } from './trainer.ts'

/** A reward model in a worker thread: training and scoring. Calls are served in order of arrival. Errors are `CascadeError`s. */
export class RewardEngine implements AsyncDisposable {
  readonly config: ModelConfig
  readonly profile: NumericProfile
  readonly #worker: Connection<RewardOperations>

  private constructor(config: ModelConfig, profile: NumericProfile, worker: Connection<RewardOperations>) {
    this.config = config
    this.profile = profile
    this.#worker = worker
  }

  /** With the weights of seed 0 until {@link loadState}. @throws CascadeError ENGINE_FAILED */
  static async open(options: RewardEngineOptions): Promise<RewardEngine> {
    const entry = new URL('./worker', import.meta.url)
    const { connection, profile } = await startWorker<RewardOperations>(entry, options)
    return new RewardEngine(options.config, profile, connection)
  }

  /**
   * The arrays move to the worker: the caller's are empty afterwards.
   *
   * @throws CascadeError CHECKPOINT_SHAPE, CHECKPOINT_INVALID; the state is unchanged then
   */
  loadState(state: TrainState): Promise<void> {
    return this.#worker.call('loadState', [state], { transfer: buffersOf(state) })
  }

  /** A copy. */
  exportState(): Promise<TrainState> {
    return this.#worker.call('exportState', [])
  }

  /** One optimiser step over all micro-batches. @throws CascadeError NUMERIC, RECORD_INVALID; nothing has changed then */
  step(micro: readonly (readonly TokenPair[])[], options: PairOptions): Promise<PairResult> {
    return this.#worker.call('step', [micro, options])
  }

  /** One reward a text. @throws CascadeError RECORD_INVALID; the signal's reason */
  rewards(texts: readonly Int32Array[], signal?: AbortSignal): Promise<Float32Array> {
    return this.#worker.call('rewards', [texts], { signal })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker[Symbol.asyncDispose]()
  }
}
