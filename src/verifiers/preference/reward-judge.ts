import type { Verdict } from '../../../streams/ports.ts'
import { isCascadeError } from '../../../topics/index.ts'
import {
  type Answered,
  answerLength,
  encodeAnswer,
  RewardEngine,
  type RewardModel,
} from '../../model/reward/index.ts'
import { zeroState } from '../../model/weights/init.ts'

/** Rows of one run of the model at most. */
const batchRows = 64

interface Waiting {
  readonly tokens: Int32Array
  /** Ends the wait; what comes later is nobody's. */
  settle(verdict: Verdict): void
}

export interface RewardJudgeOptions {
  /** For messages. */
  name: string
  model: RewardModel
  /** Threads within an operator. @default the processors this process may use */
  threads?: number | undefined
}

/**
 * Judges answers with a reward model in a worker thread; what waits at the same time is judged together, and the bits of a score do not
 * depend on it. The score is the reward as it is. A text that the model cannot read in full is an error: cut it would be another text,
 * and the 0 of an unparsable one would be better than a bad reward. A thread that ends is started again.
 */
export class RewardJudge implements AsyncDisposable {
  readonly #options: RewardJudgeOptions
  readonly #queue: Waiting[] = []
  #engine: Promise<RewardEngine> | undefined
  #working: Promise<void> | undefined
  #closed = false

  /** @throws CascadeError ENGINE_FAILED */
  static async open(options: RewardJudgeOptions): Promise<RewardJudge> {
    const judge = new RewardJudge(options)
    await judge.#opened()
    return judge
  }

  private constructor(options: RewardJudgeOptions) {
    this.#options = options
  }

  /** @throws the signal's reason */
  async judge(given: Answered, signal: AbortSignal): Promise<Verdict> {
    signal.throwIfAborted()
    if (this.#closed) return this.#failed('ENGINE_FAILED', 'it was closed', false)
    const most = this.#options.model.config.max_position_embeddings
    const length = answerLength(given)
    if (length > most) {
      const why = `prompt and response: expected at most ${most} tokens, got ${length}`
      return this.#failed('RECORD_INVALID', why, false)
    }
    let tokens: Int32Array
    try {
      tokens = encodeAnswer(given)
    } catch (error) {
      if (!isCascadeError(error, 'RECORD_INVALID')) throw error
      return this.#failed(error.code, error.message, false)
    }
    return new Promise((resolve, reject) => {
      const abort = () => {
        const at = this.#queue.indexOf(waiting)
        if (at >= 0) this.#queue.splice(at, 1)
        reject(signal.reason)
      }
      const waiting: Waiting = {
        tokens,
        settle(verdict) {
          signal.removeEventListener('abort', abort)
          resolve(verdict)
        },
      }
      signal.addEventListener('abort', abort, { once: true })
      this.#queue.push(waiting)
      this.#working ??= this.#work()
    })
  }

  /** Ends the thread; what waits is answered with an error. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    for (const waiting of this.#queue.splice(0)) {
      waiting.settle(this.#failed('ENGINE_FAILED', 'it was closed', false))
    }
    await this.#working
    await this.#drop()
  }

  /** Never rejects. */
  async #work(): Promise<void> {
    // Requests of the same turn are judged together.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#queue.length > 0) await this.#batch(this.#queue.splice(0, batchRows))
    this.#working = undefined
  }

  async #batch(batch: readonly Waiting[]): Promise<void> {
    try {
      const engine = await this.#opened()
      const rewards = await engine.rewards(batch.map(({ tokens }) => tokens))
      for (const [i, { tokens, settle }] of batch.entries()) settle(this.#verdict(rewards[i]!, tokens.length))
    } catch (error) {
      const code = isCascadeError(error) ? error.code : 'VERIFIER_FAILED'
      if (code === 'ENGINE_FAILED') await this.#drop()
      const why = error instanceof Error ? error.message : String(error)
      for (const { settle } of batch) settle(this.#failed(code, why, code === 'ENGINE_FAILED'))
    }
  }

  #verdict(reward: number, tokens: number): Verdict {
    if (!Number.isFinite(reward)) {
      return this.#failed('NUMERIC', `expected a finite reward, got ${reward}`, false)
    }
    return {
      outcome: 'score',
      score: reward,
      detail: { reward, tokens, model: this.#options.model.hash.slice(0, 12) },
    }
  }

  #failed(code: string, why: string, retryable: boolean): Verdict {
    return { outcome: 'failed', code, message: `verifier ${this.#options.name}: ${why}`, retryable }
  }

  #opened(): Promise<RewardEngine> {
    this.#engine ??= this.#open()
    return this.#engine
  }

  async #open(): Promise<RewardEngine> {
    const { model, threads } = this.#options
    const { config } = model
    const engine = await RewardEngine.open({ config, threads })
    // A copy: the arrays move to the thread, and another one may have to be started.
    const weights = new Map(Array.from(model.weights, ([name, values]) => [name, values.slice()]))
    await engine.loadState({ weights, m: zeroState(config), v: zeroState(config), step: 0 })
    return engine
  }

  async #drop(): Promise<void> {
    const engine = this.#engine
    this.#engine = undefined
    // One that could not be started has nothing to end.
    const opened = await engine?.catch(() => undefined)
    await opened?.[Symbol.asyncDispose]()
  }
}
