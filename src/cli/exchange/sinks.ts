import { createWriteStream } from 'node:fs'
import { open, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { finished } from 'node:stream/promises'
import { Worker } from 'node:worker_threads'
import { createGzip } from 'node:zlib'
import { CascadeError } from '../../../topics/index.ts'
import type { Exported, Format } from '../../exchange/index.ts'
import { syncFolder } from '../../sync-folder.ts'
import { packageVersion } from '../../version.ts'
import type { Output } from '../command.ts'
import { print } from '../output/print.ts'
import type { FromParquet, ToParquet } from './parquet-worker.ts'

/** Where exported rollouts go, a group at a time. */
export interface Sink extends AsyncDisposable {
  write(members: readonly Exported[]): Promise<void>
  /** Lines or rows are all there; the file has its name only now. */
  finish(): Promise<void>
}

/** Rows of `format` on an output that is there already. */
export function outputSink(format: Format, output: Output, signal: AbortSignal): Sink {
  let next = 0
  return {
    async write(members) {
      const lines = format.write(members, next)
      next += lines.length
      for (const line of lines) await print(output, `${JSON.stringify(line)}\n`, signal)
    },
    async finish() {},
    async [Symbol.asyncDispose]() {},
  }
}

/** Rows of `format` in a file, packed where its name ends in `.gz`. */
export function fileSink(format: Format, file: string, signal: AbortSignal): Sink {
  const partial = partialOf(file)
  const target = createWriteStream(partial)
  const packed = file.endsWith('.gz') ? createGzip() : undefined
  packed?.pipe(target)
  const out = packed ?? target
  target.on('error', (error) => packed?.destroy(error))
  const ended = finished(target)
  // Reported by the write that fails, or at the end.
  ended.catch(() => undefined)
  const lines = outputSink(format, out, signal)
  return {
    write: (members) =>
      lines.write(members).catch((cause: unknown) => Promise.reject(writeFault(cause, file))),
    async finish() {
      out.end()
      await ended.catch((cause: unknown) => Promise.reject(writeFault(cause, file)))
      await publish(partial, file)
    },
    async [Symbol.asyncDispose]() {
      out.destroy()
      target.destroy()
      await rm(partial, { force: true })
    },
  }
}

/** Rows and bytes of a row group: what is held in memory, and twice while it is written. */
const rowGroup = { rows: 4096, bytes: 4 * 1024 * 1024 }

/** Parquet in a file, encoded in a thread of its own. */
export function parquetSink(file: string): Sink {
  const partial = partialOf(file)
  // Type stripping leaves the extension as it is, the build does not.
  const worker = new Worker(
    new URL(import.meta.url.endsWith('.ts') ? './parquet-worker.ts' : './parquet-worker.js', import.meta.url),
    { workerData: { file: partial, createdBy: `cascade ${packageVersion()}` } },
  )
  let rows: Exported[] = []
  let bytes = 0
  let pending: Promise<void> = Promise.resolve()
  const send = async (message: ToParquet): Promise<void> => {
    await pending
    pending = answer(worker, message).catch((cause: unknown) => Promise.reject(writeFault(cause, file)))
    pending.catch(() => undefined)
  }
  const flush = async () => {
    if (rows.length === 0) return
    const group = rows
    rows = []
    bytes = 0
    await send({ rows: group })
  }
  return {
    async write(members) {
      rows.push(...members)
      for (const { rollout: r } of members) {
        bytes +=
          9 * (r.responseTokens.length + r.promptTokens.length) + r.promptText.length + r.responseText.length
      }
      if (rows.length >= rowGroup.rows || bytes >= rowGroup.bytes) await flush()
    },
    async finish() {
      await flush()
      await send({ end: true })
      await pending
      await publish(partial, file)
    },
    async [Symbol.asyncDispose]() {
      await worker.terminate()
      await rm(partial, { force: true })
    },
  }
}

function answer(worker: Worker, message: ToParquet): Promise<void> {
  return new Promise((resolve, reject) => {
    const onMessage = (reply: FromParquet) => {
      worker.off('error', onError)
      if ('done' in reply) resolve()
      else
        reject(
          Object.assign(
            new Error(reply.error),
            reply.code === undefined ? {} : { code: reply.code, syscall: 'write' },
          ),
        )
    }
    const onError = (error: unknown) => {
      worker.off('message', onMessage)
      reject(error)
    }
    worker.once('message', onMessage)
    worker.once('error', onError)
    worker.postMessage(message)
  })
}

/** Beside the file, so that renaming it is one step. */
function partialOf(file: string): string {
  return join(dirname(file), `.${basename(file)}.${process.pid}.partial`)
}

async function publish(partial: string, file: string): Promise<void> {
  try {
    const handle = await open(partial, 'r+')
    await handle.sync()
    await handle.close()
    await rename(partial, file)
    await syncFolder(dirname(file))
  } catch (cause) {
    throw writeFault(cause, file)
  }
}

function writeFault(cause: unknown, file: string): unknown {
  if (!(cause instanceof Error && 'syscall' in cause)) return cause
  return new CascadeError(
    'USAGE',
    `--out: expected a file that can be written, got ${file}: ${cause.message}`,
    { cause },
  )
}
