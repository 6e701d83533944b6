import { stripVTControlCharacters, styleText } from 'node:util'
import type { Context, Output } from '../command.ts'

export type Format = Parameters<typeof styleText>[0]
export type Style = (format: Format, text: string) => string

/** Text as it is, or coloured: decided once per stream, never by a part of the output. */
export function styleOf(color: boolean): Style {
  return color ? (format, text) => styleText(format, text, { validateStream: false }) : (_, text) => text
}

/** Colour on a terminal, unless NO_COLOR or a dumb terminal says otherwise. */
export function wantsColor(output: Output, env: Context['env']): boolean {
  if (env.NO_COLOR) return false
  if (env.FORCE_COLOR) return env.FORCE_COLOR !== '0'
  return output.isTTY === true && env.TERM !== 'dumb'
}

/** Columns that a text takes; all that we print has width 1. */
export function width(text: string): number {
  return [...stripVTControlCharacters(text)].length
}

/** Cut to `columns`, with an ellipsis; only for text without styles. */
export function cut(text: string, columns: number): string {
  const letters = [...text]
  return letters.length <= columns ? text : `${letters.slice(0, Math.max(0, columns - 1)).join('')}…`
}
