/** A JSON value as a JavaScript expression; a key `__proto__` stays a key. */
export function javascriptLiteral(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(javascriptLiteral).join(', ')}]`
  if (value !== null && typeof value === 'object') {
    const entries = Object.entries(value).map(([k, v]) => `[${JSON.stringify(k)}]: ${javascriptLiteral(v)}`)
    return `{${entries.join(', ')}}`
  }
  return JSON.stringify(value) ?? 'undefined'
}

/** What the prelude's `encode` wrote, as a value; bigint where it is one. */
export function decodeData(encoded: unknown): unknown {
  if (Array.isArray(encoded)) return encoded.map(decodeData)
  if (encoded === null || typeof encoded !== 'object') return encoded
  const wrapped = encoded as { number?: string; bigint?: string; record?: Record<string, unknown> }
  if (wrapped.number !== undefined) return Number(wrapped.number)
  if (wrapped.bigint !== undefined) return BigInt(wrapped.bigint)
  const record = Object.create(null) as Record<string, unknown>
  for (const [key, value] of Object.entries(wrapped.record ?? {})) record[key] = decodeData(value)
  return record
}

export function callText(name: string, args: readonly unknown[]): string {
  return `${name}(${args.map(javascriptLiteral).join(', ')})`
}
