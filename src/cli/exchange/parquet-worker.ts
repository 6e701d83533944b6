import { closeSync, fsyncSync, openSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { fileWriter, ParquetWriter } from 'hyparquet-writer'
import type { Exported } from '../../exchange/foreign.ts'
import { columnsOf, schema } from '../../exchange/parquet.ts'

/** Encodes row groups and writes them, one answer a message: encoding and compressing would hold the main thread for longer than it may be held. */
export type ToParquet = { readonly rows: readonly Exported[] } | { readonly end: true }
export type FromParquet =
  | { readonly done: true }
  | { readonly error: string; readonly code: string | undefined }

const { file, createdBy } = workerData as { file: string; createdBy: string }
const port = parentPort!

let writer: { out: ReturnType<typeof fileWriter>; parquet: ParquetWriter } | undefined

function opened() {
  if (writer) return writer
  const out = fileWriter(file)
  writer = { out, parquet: new ParquetWriter({ writer: out, schema, createdBy }) }
  return writer
}

function handle(message: ToParquet): void {
  const { parquet } = opened()
  if ('end' in message) {
    void parquet.finish()
    const handle = openSync(file, 'r+')
    fsyncSync(handle)
    closeSync(handle)
    return
  }
  const { rows } = message
  void parquet.write({ columnData: columnsOf(rows) as never, rowGroupSize: rows.length })
}

port.on('message', (message: ToParquet) => {
  try {
    handle(message)
    port.postMessage({ done: true } satisfies FromParquet)
  } catch (error) {
    const { message: text, code } = error as NodeJS.ErrnoException
    port.postMessage({ error: text, code } satisfies FromParquet)
  }
})
