/** What is wrong with a row of a foreign file: the field, what was expected and what came. */
export class RowFault extends Error {
  readonly field: string
  readonly expected: string
  readonly got: string

  constructor(field: string, expected: string, got: string) {
    super(`${field}: expected ${expected}, got ${got}`)
    this.name = 'RowFault'
    this.field = field
    this.expected = expected
    this.got = got
  }
}

/** What came, short enough for a line of text. */
export function shown(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (Array.isArray(value)) return `a list of ${value.length}`
  const text = JSON.stringify(value) ?? 'nothing'
  return text.length <= 60 ? text : `${text.slice(0, 60)}…`
}

const int32Max = 2 ** 31 - 1

/** Checked access to the fields of a JSON object; null counts as a field that is not there. Remembers what was asked for. */
export class Row {
  readonly #values: Record<string, unknown>
  readonly #path: string
  readonly #asked = new Set<string>()

  /** @throws RowFault where the value is no JSON object */
  constructor(value: unknown, path = '') {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new RowFault(path || '(row)', 'a JSON object', shown(value))
    }
    this.#values = value as Record<string, unknown>
    this.#path = path
  }

  /** The field's name as an error shows it. */
  named(name: string): string {
    return this.#path ? `${this.#path}.${name}` : name
  }

  has(name: string): boolean {
    return this.any(name) !== undefined
  }

  any(name: string): unknown {
    this.#asked.add(name)
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined
    return value === null ? undefined : value
  }

  /** What `read` makes of a field that is there. */
  optional<T>(name: string, read: (name: string) => T): T | undefined {
    return this.has(name) ? read(name) : undefined
  }

  text = (name: string): string => textOf(this.any(name), this.named(name))
  /** A text that is not empty. */
  name = (name: string): string => {
    const text = this.text(name)
    if (text === '') throw new RowFault(this.named(name), 'a text that is not empty', '""')
    return text
  }
  number = (name: string): number => numberOf(this.any(name), this.named(name))
  count = (name: string): number => countOf(this.any(name), this.named(name))
  flag = (name: string): boolean => {
    const value = this.any(name)
    if (typeof value !== 'boolean') throw new RowFault(this.named(name), 'true or false', shown(value))
    return value
  }
  oneOf = <T extends string>(name: string, choices: readonly T[]): T => {
    const value = this.any(name)
    if (choices.includes(value as T)) return value as T
    throw new RowFault(this.named(name), `one of ${choices.join(', ')}`, shown(value))
  }
  row = (name: string): Row => new Row(this.any(name), this.named(name))
  list = (name: string): readonly unknown[] => listOf(this.any(name), this.named(name))
  tokens = (name: string): Int32Array => tokensOf(this.list(name), this.named(name))
  floats = (name: string): Float32Array => floatsOf(this.list(name), this.named(name))
  mask = (name: string): Uint8Array => maskOf(this.list(name), this.named(name))

  /** Fields that nobody asked for. */
  rest(): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(this.#values).filter(([name, value]) => !this.#asked.has(name) && value !== null),
    )
  }
}

export function textOf(value: unknown, field: string): string {
  if (typeof value === 'string') return value
  throw new RowFault(field, 'a text', shown(value))
}

export function numberOf(value: unknown, field: string): number {
  if (typeof value === 'number' && Number.isFinite(value)) return value
  throw new RowFault(field, 'a finite number', shown(value))
}

export function countOf(value: unknown, field: string): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= int32Max) return value
  throw new RowFault(field, `a whole number from 0 to ${int32Max}`, shown(value))
}

export function listOf(value: unknown, field: string): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new RowFault(field, 'a list', shown(value))
}

/** Loops, as below: lists of tokens make up nearly all of a file. */
export function tokensOf(list: readonly unknown[], field: string): Int32Array {
  const tokens = new Int32Array(list.length)
  for (let i = 0; i < tokens.length; i++) {
    const value = list[i]
    if (typeof value !== 'number' || (value | 0) !== value || value < 0) {
      throw new RowFault(`${field}[${i}]`, 'a token id', shown(value))
    }
    tokens[i] = value
  }
  return tokens
}

export function floatsOf(list: readonly unknown[], field: string): Float32Array {
  const floats = new Float32Array(list.length)
  for (let i = 0; i < floats.length; i++) {
    const value = list[i]
    if (typeof value !== 'number' || !Number.isFinite(Math.fround(value))) {
      throw new RowFault(`${field}[${i}]`, 'a finite number', shown(value))
    }
    floats[i] = value
  }
  return floats
}

export function maskOf(list: readonly unknown[], field: string): Uint8Array {
  const mask = new Uint8Array(list.length)
  for (let i = 0; i < mask.length; i++) {
    const value = list[i]
    if (value !== 0 && value !== 1 && value !== true && value !== false) {
      throw new RowFault(`${field}[${i}]`, '0 or 1', shown(value))
    }
    mask[i] = Number(value)
  }
  return mask
}
