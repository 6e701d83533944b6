import * as threads from 'node:worker_threads'
import { CascadeError, type ErrorCode, isCascadeError } from '../../../topics/errors.ts'
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
import type { NumericProfile } from './profile.ts'

/** What crosses between the main thread and the engine's worker. */

export interface EngineOptions {
  config: ModelConfig
  /** A group's tokens depend on weights and request alone, bit for bit, whatever else is decoded. @default false */
  deterministic?: boolean
  /** Threads within an operator. @default the processors this process may use */
  threads?: number
  /** Execution providers of onnxruntime in order of preference. @default ['cpu'] */
  providers?: readonly string[]
  /** Rows decoded together; a larger group is still decoded whole. @default 256 */
  maxRows?: number
}

/** Arguments and result of each operation. */
export interface Operations {
  initialise(seed: number): void
  loadState(state: TrainState): void
  exportState(): TrainState
  resetOptimizer(): void
  setReference(): void
  step(micro: readonly MicroBatch[], options: UpdateOptions): StepResult
  score(rows: TokenRows, temperature: number, which: 'current' | 'reference'): Scores
  generate(request: GenerateRequest): void
}

/** A call of any of the operations `O`. */
export type CallOf<O> = {
  [K in keyof O]: { id: number; op: K; args: O[K] extends (...args: infer A) => unknown ? A : never }
}[keyof O]

export type Call = CallOf<Operations>

export type ToWorker = Call | { abort: number } | { close: true }

export type FromWorker =
  | { ready: NumericProfile }
  | { id: number; value: unknown }
  | { id: number; error: WireError }
  /** A row of a `generate` that goes on. */
  | { id: number; index: number; row: GeneratedRow }

export interface WireError {
  code: ErrorCode
  message: string
  retryable: boolean
  context: Record<string, unknown>
  stack: string | undefined
}

/** Anything that is not a CascadeError is a fault of the engine. */
export function toWire(error: unknown): WireError {
  if (isCascadeError(error)) {
    const { code, message, retryable, context, stack } = error
    return { code, message, retryable, context, stack }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { code: 'ENGINE_FAILED', message: `engine: ${message}`, retryable: false, context: {}, stack }
}

export function fromWire({ code, message, retryable, context, stack }: WireError): CascadeError {
  const error = new CascadeError(code, message, { retryable, context })
  if (stack !== undefined) error.stack = stack
  return error
}

/** The memory of a state that may be moved instead of copied. */
export function buffersOf(state: TrainState): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>()
  for (const tensors of [state.weights, state.m, state.v]) {
    for (const { buffer } of tensors.values()) {
      if (buffer instanceof ArrayBuffer && isMovable(buffer)) buffers.add(buffer)
    }
  }
  return Array.from(buffers)
}

/** Node 20 cannot tell memory of Buffer's pool, which must stay, from other memory: there nothing is moved. */
function isMovable(buffer: ArrayBuffer): boolean {
  const marked: ((o: object) => boolean) | undefined = threads.isMarkedAsUntransferable
  return marked !== undefined && !marked(buffer)
}
