const blocks = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'] as const

/** Mean of each of at most `count` equal stretches of a series. */
export function buckets(values: readonly number[], count: number): number[] {
  const n = Math.min(count, values.length)
  return Array.from({ length: n }, (_, i) => {
    const part = values.slice(Math.floor((i * values.length) / n), Math.floor(((i + 1) * values.length) / n))
    return part.reduce((sum, v) => sum + v, 0) / part.length
  })
}

/** A curve in one line of block letters, lowest value lowest. */
export function spark(values: readonly number[], columns: number): string {
  const means = buckets(values, columns)
  const low = Math.min(...means)
  const span = Math.max(...means) - low
  return means.map((v) => blocks[span === 0 ? 0 : Math.min(7, Math.floor(((v - low) / span) * 8))]).join('')
}
