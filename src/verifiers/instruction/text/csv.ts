/** Rows of raw fields, quotes left on; undefined where there are more than `limit` rows. An empty line is a row without fields. */
export function csvRows(text: string, delimiter: string, limit: number): string[][] | undefined {
  const rows: string[][] = []
  let row: string[] = []
  let from = 0
  let quoted = false
  const close = (at: number): void => {
    row.push(text.slice(from, at).replace(/\r$/, ''))
    from = at + 1
  }
  const end = (at: number): void => {
    close(at)
    rows.push(row.length === 1 && row[0] === '' ? [] : row)
    row = []
  }
  for (let at = 0; at < text.length; at++) {
    const c = text[at]
    // Inside a quoted field a doubled quote closes and opens again.
    if (c === '"' && (quoted || at === from)) quoted = !quoted
    else if (c === '"' && text[at - 1] === '"' && text[from] === '"') quoted = true
    else if (c === delimiter && !quoted) close(at)
    else if (c === '\n' && !quoted) end(at)
    if (rows.length > limit) return undefined
  }
  if (from < text.length || row.length > 0) end(text.length)
  return rows.length > limit ? undefined : rows
}

/** A field's value: what its quotes enclose. */
export function csvValue(field: string): string {
  return isQuoted(field) ? field.slice(1, -1).replaceAll('""', '"') : field
}

export function isQuoted(field: string): boolean {
  return field.length > 1 && field.startsWith('"') && field.endsWith('"')
}
