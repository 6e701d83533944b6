/** Blanks at line ends and empty lines at the end are of no account. */
export function sameOutput(expected: string, got: string): boolean {
  return plain(expected) === plain(got)
}

function plain(text: string): string {
  const lines = text.split('\n').map((line) => line.trimEnd())
  while (lines.at(-1) === '') lines.pop()
  return lines.join('\n')
}

/** Equal as JSON. Whole numbers of any size are compared exactly, others as doubles. */
export function sameData(expected: unknown, got: unknown): boolean {
  if (typeof got === 'bigint') {
    return typeof expected === 'number' && Number.isInteger(expected) && BigInt(expected) === got
  }
  if (typeof expected !== 'object' || expected === null) return expected === got
  if (typeof got !== 'object' || got === null) return false
  if (Array.isArray(expected)) {
    return (
      Array.isArray(got) &&
      got.length === expected.length &&
      expected.every((item, i) => sameData(item, got[i]))
    )
  }
  if (Array.isArray(got)) return false
  const keys = Object.keys(expected)
  return (
    Object.keys(got).length === keys.length &&
    keys.every(
      (key) =>
        Object.hasOwn(got, key) &&
        sameData((expected as Record<string, unknown>)[key], (got as Record<string, unknown>)[key]),
    )
  )
}

/** For a reader: long texts are cut in the middle. */
export function clip(value: unknown, length = 400): string {
  const text = typeof value === 'string' ? value : written(value)
  if (text.length <= length) return text
  const half = Math.floor(length / 2)
  return `${text.slice(0, half)} … ${text.length - 2 * half} characters … ${text.slice(-half)}`
}

function written(value: unknown): string {
  return (
    JSON.stringify(value, (_, item: unknown) =>
      typeof item === 'bigint' || (typeof item === 'number' && !Number.isFinite(item)) ? String(item) : item,
    ) ?? 'undefined'
  )
}
