import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import { Connection } from './connection.ts'
import type { NumericProfile } from './profile.ts'
import type { EngineOptions, Operations } from './protocol.ts'

/** What a worker is started with, beside options of its own. */
export type WorkerOptions = Pick<EngineOptions, 'threads' | 'providers'>

/** The same with nothing left open: the worker's `workerData`. */
export type WorkerData<T extends WorkerOptions> = T & { threads: number; providers: string[] }

/**
 * Starts a thread that owns sessions. `entry`: its module, without the extension.
 *
 * @throws CascadeError ENGINE_FAILED
 */
export async function startWorker<O extends { [K in keyof O]: (...args: never[]) => unknown } = Operations>(
  entry: URL,
  options: WorkerOptions,
): Promise<{ connection: Connection<O>; profile: NumericProfile }> {
  const threads = options.threads ?? availableParallelism()
  const providers = [...(options.providers ?? ['cpu'])]
  // Type stripping leaves the extension as it is, the build does not.
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  const worker = new Worker(new URL(entry.href + extension), {
    workerData: { ...options, threads, providers },
  })
  const connection = new Connection<O>(worker)
  return { connection, profile: await connection.ready }
}
