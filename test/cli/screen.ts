/** The few control sequences that we use, as a terminal shows them. */
export function screenOf(text: string): string[] {
  const rows: string[] = ['']
  let row = 0
  let column = 0
  for (const [piece] of text.matchAll(/\x1b\[(\d*)([A-Za-z])|[\s\S]/g)) {
    if (piece === '\n') {
      row++
      column = 0
      rows[row] ??= ''
    } else if (piece === '\r') column = 0
    else if (piece.startsWith('\x1b')) {
      const count = Number(piece.slice(2, -1) || 1)
      if (piece.endsWith('A')) row -= count
      else if (piece.endsWith('J')) {
        rows[row] = rows[row]!.slice(0, column)
        rows.length = row + 1
      } else if (!piece.endsWith('m')) throw new Error(`unexpected control sequence ${JSON.stringify(piece)}`)
    } else {
      rows[row] = rows[row]!.slice(0, column).padEnd(column) + piece + rows[row]!.slice(column + 1)
      column++
    }
  }
  return rows
}
