import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { CascadeError } from '../../topics/index.ts'

export type Row = Readonly<Record<string, unknown>>

/** A row of a data file, or why a line is none. */
export type Line = { readonly line: number } & ({ readonly row: Row } | { readonly fault: string })

/**
 * The objects of a JSON Lines file (`.gz`: compressed), one after the other; empty lines are passed over.
 *
 * @throws CascadeError CONFIG_INVALID naming the file, where it cannot be read
 */
export async function* readRows(path: string): AsyncGenerator<Line> {
  const file = createReadStream(path)
  const input = path.endsWith('.gz') ? file.pipe(createGunzip()) : file
  // A pipe hands no error on.
  file.on('error', (error) => input.destroy(error))
  let line = 0
  try {
    for await (const text of createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })) {
      line += 1
      if (text.trim() !== '') yield { line, ...rowOf(line === 1 ? text.replace(/^\uFEFF/, '') : text) }
    }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CascadeError('CONFIG_INVALID', `${path}: expected a file of JSON lines: ${reason}`, { cause })
  } finally {
    file.destroy()
  }
}

function rowOf(text: string): { row: Row } | { fault: string } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { fault: `expected a JSON object, got ${JSON.stringify(text.slice(0, 60))}` }
  }
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? { row: value as Row }
    : { fault: `expected a JSON object, got ${text.slice(0, 60)}` }
}
