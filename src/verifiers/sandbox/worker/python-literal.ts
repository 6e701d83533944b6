/** A JSON value as a Python expression. */
export function pythonLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`expected a finite number, got ${value}`)
    return Number.isInteger(value) ? BigInt(value).toString() : String(value)
  }
  if (typeof value === 'string') return pythonText(value)
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`
  const entries = Object.entries(value as object).map(([k, v]) => `${pythonText(k)}: ${pythonLiteral(v)}`)
  return `{${entries.join(', ')}}`
}

/** ASCII alone, so that no encoding has a say. */
function pythonText(text: string): string {
  let out = "'"
  for (const character of text) {
    const code = character.codePointAt(0)!
    if (code >= 32 && code < 127 && character !== "'" && character !== '\\') out += character
    else if (code < 65_536) out += `\\u${code.toString(16).padStart(4, '0')}`
    else out += `\\U${code.toString(16).padStart(8, '0')}`
  }
  return `${out}'`
}

export function callExpression(name: string, args: readonly unknown[]): string {
  return `${name}(${args.map(pythonLiteral).join(', ')})`
}
