import { type NoiseSeed, noise } from '../sampling/noise.ts'
import type { GeneratedRow, GenerateRequest } from './requests.ts'

/** Whom a group tells. After `done`, `failed` or a {@link Group.cancel} nothing more comes. */
export interface GroupListener {
  row(index: number, row: GeneratedRow): void
  done(): void
  failed(error: unknown): void
}

/** A request under way. */
export class Group {
  readonly request: GenerateRequest
  readonly uniform: (sample: number, position: number) => number
  readonly #listener: GroupListener
  #open: number
  #settled = false
  started = 0

  constructor(request: GenerateRequest, listener: GroupListener) {
    this.request = request
    this.uniform = noise(request.seed satisfies NoiseSeed)
    this.#listener = listener
    this.#open = request.rows
  }

  /** Done, failed or cancelled: what rows it still has are dropped before the next run. */
  get settled(): boolean {
    return this.#settled
  }

  finish(index: number, row: GeneratedRow): void {
    if (this.#settled) return
    this.#listener.row(index, row)
    this.#open -= 1
    if (this.#open > 0) return
    this.#settled = true
    this.#listener.done()
  }

  fail(error: unknown): void {
    if (this.#settled) return
    this.#settled = true
    this.#listener.failed(error)
  }

  cancel(): void {
    this.#settled = true
  }
}

/** One answer being sampled. */
export class Row {
  readonly group: Group
  readonly index: number
  readonly #tokens: Int32Array
  readonly #logprobs: Float32Array
  #mismatch = 0
  /** Tokens so far; also the position of the next draw. */
  count = 0
  finished = false

  constructor(group: Group, index: number) {
    this.group = group
    this.index = index
    this.#tokens = new Int32Array(group.request.sampling.maxTokens)
    this.#logprobs = new Float32Array(group.request.sampling.maxTokens)
  }

  get last(): number {
    return this.#tokens[this.count - 1]!
  }

  /** The uniform number of the next draw. */
  uniform(): number {
    return this.group.uniform(this.index, this.count)
  }

  /** Does nothing once finished: a row may have to stay in its batch. */
  push(token: number, logprob: number, drawn: number): void {
    if (this.finished) return
    const { maxTokens, stopTokens } = this.group.request.sampling
    this.#tokens[this.count] = token
    this.#logprobs[this.count] = logprob
    this.#mismatch += drawn - logprob
    this.count += 1
    const stopped = stopTokens.includes(token)
    if (!stopped && this.count < maxTokens) return
    this.finished = true
    this.group.finish(this.index, {
      tokens: this.#tokens.slice(0, this.count),
      logprobs: this.#logprobs.slice(0, this.count),
      mismatch: this.#mismatch / this.count,
      finishReason: stopped ? 'stop' : 'length',
      milliseconds: performance.now() - this.group.started,
    })
  }
}
