import { CascadeError } from '../../topics/index.ts'
import { linesOf } from '../lines.ts'

export type Row = Readonly<Record<string, unknown>>

/** A row of a data file, or why a line is none. */
export type Line = { readonly line: number } & ({ readonly row: Row } | { readonly fault: string })

/**
 * The objects of a JSON Lines file (`.gz`: compressed), one after the other; empty lines are passed over.
 *
 * @throws CascadeError CONFIG_INVALID naming the file, where it cannot be read, and the line where it is not UTF-8
 */
export async function* readRows(path: string): AsyncGenerator<Line> {
  try {
    for await (const { text, number: line } of linesOf(path)) yield { line, ...rowOf(text) }
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new CascadeError('CONFIG_INVALID', reason, { cause })
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
