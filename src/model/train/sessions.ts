import ort from 'onnxruntime-node'
import { CascadeError } from '../../../topics/errors.ts'
import type { GraphBuilder } from '../onnx/builder.ts'

export type SessionOptions = ort.InferenceSession.SessionOptions

/** Feeds or fetches of a run. */
export type Tensors = Record<string, ort.Tensor>

/**
 * Sessions made when first asked for. Subnormal numbers count as zero: old AdamW moments decay into them,
 * and arithmetic on them is many times slower. Threads do not wait for a session's next run by spinning, some 60 ms: those of another
 * session need the cores. Warnings of onnxruntime (unused constants) are not for users; its
 * errors are thrown.
 */
export class LazySessions<Name extends string> {
  readonly #graphs: Record<Name, () => GraphBuilder>
  readonly #options: SessionOptions
  readonly #open = new Map<Name, ort.InferenceSession>()

  constructor(graphs: Record<Name, () => GraphBuilder>, options: SessionOptions) {
    this.#graphs = graphs
    const extra = { session: { set_denormal_as_zero: '1', force_spinning_stop: '1' } }
    this.#options = { extra, logSeverityLevel: 3, ...options }
  }

  /**
   * Runs a graph; blocks the calling thread. Tensors given as `into` receive the results in place.
   *
   * @throws CascadeError ENGINE_FAILED
   */
  async run(name: Name, feeds: Tensors, into: Record<string, ort.Tensor | null>): Promise<Tensors> {
    try {
      let session = this.#open.get(name)
      if (!session) {
        session = await ort.InferenceSession.create(this.#graphs[name]().toModel(), this.#options)
        this.#open.set(name, session)
      }
      return (await session.run(feeds, into)) as Tensors
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      throw new CascadeError('ENGINE_FAILED', `graph ${name}: ${reason}`, { cause })
    }
  }

  /** Frees a session; the next run makes it anew. */
  async drop(name: Name): Promise<void> {
    const session = this.#open.get(name)
    this.#open.delete(name)
    await session?.release()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const sessions = Array.from(this.#open.values())
    this.#open.clear()
    await Promise.all(sessions.map((s) => s.release()))
  }
}

export function scalar(value: number): ort.Tensor {
  return new ort.Tensor('float32', Float32Array.of(value), [])
}

export function vector(values: Float32Array | BigInt64Array): ort.Tensor {
  return values instanceof Float32Array
    ? new ort.Tensor('float32', values, [values.length])
    : new ort.Tensor('int64', values, [values.length])
}
