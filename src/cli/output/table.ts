import { width } from './style.ts'

export interface Column {
  readonly title: string
  readonly align?: 'left' | 'right'
}

/** Lines of a table: two spaces between columns, as wide as the widest cell, styles allowed in cells. */
export function table(columns: readonly Column[], rows: readonly (readonly string[])[]): string[] {
  const titled = columns.some((c) => c.title !== '')
  const all = titled ? [columns.map((c) => c.title), ...rows] : rows
  const widths = columns.map((_, i) => Math.max(0, ...all.map((row) => width(row[i] ?? ''))))
  return all.map((row) =>
    columns
      .map(({ align }, i) => {
        const cell = row[i] ?? ''
        const space = ' '.repeat(widths[i]! - width(cell))
        return align === 'right' ? space + cell : cell + space
      })
      .join('  ')
      .trimEnd(),
  )
}
