/** `fail` only for what prevents a run. */
export type Status = 'ok' | 'warn' | 'fail'

export interface Check {
  readonly name: string
  readonly status: Status
  /** What was found. */
  readonly detail: string
  /** What to do about it, on `warn` and `fail`. */
  readonly advice?: string
  /** The same as data. */
  readonly facts?: Readonly<Record<string, unknown>>
}

export function message(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.split('\n')[0] ?? ''
}
