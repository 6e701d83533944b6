import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'
import type { End, Execution, ProgramError, StepResult, Value } from './sandbox.ts'

type Line =
  | { readonly kind: 'begun' }
  | { readonly kind: 'step'; readonly result: StepResult }
  | { readonly kind: 'end'; readonly end: End; readonly error?: ProgramError }

/** What a native driver says on its way, and what the program prints. */
export class NativeReport {
  readonly #limit: number
  #length = 0
  #stdout = ''
  #stderr = ''
  #rest = ''
  #begun = false
  readonly #steps: StepResult[] = []
  #end: (Line & { kind: 'end' }) | undefined

  constructor(limit: number) {
    this.#limit = limit
  }

  /** `over` is called when the program has written more than it may. */
  listen(child: ChildProcess, over: () => void): void {
    const count = (text: string) => {
      this.#length += text.length
      if (this.over) over()
    }
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.printed(text)
      if (this.over) over()
    })
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.complained(text)
      if (this.over) over()
    })
    ;(child.stdio[4] as Readable).setEncoding('utf8').on('data', (text: string) => {
      this.#rest += text
      const lines = this.#rest.split('\n')
      this.#rest = lines.pop()!
      for (const line of lines) this.take(line)
      count(text)
    })
  }

  /** More was written than may be. */
  get over(): boolean {
    return this.#length > this.#limit
  }

  get begun(): boolean {
    return this.#begun
  }

  /** Text of the program's standard output. */
  printed(text: string): void {
    if (!this.over) this.#stdout += text
    this.#length += text.length
  }

  /** Text of the program's standard error. */
  complained(text: string): void {
    this.#stderr = (this.#stderr + text).slice(0, 4000)
    this.#length += text.length
  }

  /** A line of the driver's report. */
  take(text: string): void {
    let line: Line
    try {
      line = JSON.parse(text) as Line
    } catch {
      return // written by the program, which has this descriptor too: no report
    }
    if (line === null || typeof line !== 'object') return
    if (line.kind === 'begun') this.#begun = true
    else if (line.kind === 'step') this.#steps.push(decode(line.result))
    else if (line.kind === 'end') this.#end ??= line
  }

  execution(
    stopped: 'timeout' | 'output' | undefined,
    code: number | null,
    by: NodeJS.Signals | null,
    broken: (message: string) => Error,
  ): Execution {
    const base = { steps: this.#steps, stdout: this.#stdout }
    if (stopped) return { ...base, end: stopped }
    if (this.#end) return { ...base, end: this.#end.end, error: this.#end.error }
    if (!this.#begun)
      throw broken(`the program did not begin: exit code ${code} ${by ?? ''} ${this.#stderr.trim()}`)
    if (by === 'SIGKILL' || by === 'SIGTERM') throw broken(`the program was ended from outside by ${by}`)
    if (/MemoryError|out of memory|Cannot allocate memory|bad_alloc|Fatal process OOM/i.test(this.#stderr))
      return { ...base, end: 'memory' }
    // bwrap passes on a signal of the program as 128 and its number.
    const end: End = code !== null && code > 128 ? 'crash' : 'exit'
    return { ...base, end, error: { name: end, message: `${code ?? by}` } }
  }
}

/** Values as the drivers wrap them: what JSON lacks, and records. */
function decode(result: StepResult): StepResult {
  if (!result.ok || !result.value?.data) return result
  return { ok: true, value: { data: true, value: unwrap(result.value.value) } satisfies Value }
}

function unwrap(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unwrap)
  if (value === null || typeof value !== 'object') return value
  const { int, bigint, float, number, dict, record } = value as Record<string, unknown>
  if (int !== undefined || bigint !== undefined) return BigInt(String(int ?? bigint))
  if (float !== undefined || number !== undefined)
    return Number(String(float ?? number).replace(/^(-?)inf$/, '$1Infinity'))
  const out = Object.create(null) as Record<string, unknown>
  for (const [key, item] of Object.entries((dict ?? record ?? {}) as object)) out[key] = unwrap(item)
  return out
}
