import { relative } from 'node:path'
import { CascadeError } from '../../../topics/index.ts'
import { type ClosedStep, Grouping } from '../../exchange/grouping.ts'
import type { Format } from '../../exchange/index.ts'
import { RowFault } from '../../exchange/index.ts'
import { linesOf } from '../../lines.ts'

/** A line that was left out, and why. */
export interface Skipped {
  readonly file: string
  readonly line: number
  readonly field: string
  readonly expected: string
  readonly got: string
}

/** What was read so far. */
export class Reading {
  rows = 0
  bytes = 0
  skipped = 0
  /** The first of them. */
  readonly faults: Skipped[] = []
  /** Fields that were not taken over, with the lines that have them. */
  readonly ignored = new Map<string, number>()

  skip(fault: Skipped): void {
    this.skipped += 1
    if (this.faults.length < 20) this.faults.push(fault)
  }

  ignore(names: readonly string[]): void {
    for (const name of names) {
      // A file whose field names are data must not fill memory.
      if (this.ignored.has(name) || this.ignored.size < 64)
        this.ignored.set(name, (this.ignored.get(name) ?? 0) + 1)
    }
  }
}

export interface ReadOptions {
  readonly format: Format
  readonly files: readonly string[]
  readonly cwd: string
  /** Malformed lines are left out and counted. */
  readonly skipBad: boolean
  readonly signal: AbortSignal
}

/**
 * The steps that the rows of files make up, each as soon as it is complete.
 *
 * @throws `RECORD_INVALID` naming file, line and field of a malformed row; `USAGE` for a file that cannot be read; the signal's reason
 */
export async function* stepsOf(options: ReadOptions, reading: Reading): AsyncGenerator<ClosedStep> {
  const { format, files, cwd, skipBad, signal } = options
  const grouping = new Grouping()
  let done = 0
  for (const file of files) {
    const shown = relative(cwd, file) || file
    let last = 0
    for await (const { text, number, at } of linesOf(file, signal)) {
      reading.bytes = done + at
      last = at
      const closed: ClosedStep[] = []
      try {
        const place = { file, line: number }
        const { rollouts, ignored } = format.read(parsed(text), place)
        reading.ignore(ignored)
        for (const rollout of rollouts) {
          const step = grouping.add({ rollout, place }, (2 * text.length) / rollouts.length)
          reading.rows += 1
          if (step) closed.push(step)
        }
      } catch (cause) {
        if (!(cause instanceof RowFault)) throw cause
        const { field, expected, got } = cause
        const fault = { file: shown, line: number, field, expected, got }
        if (!skipBad)
          throw new CascadeError('RECORD_INVALID', faultLine(fault), { cause, context: { ...fault } })
        reading.skip(fault)
      }
      yield* closed
    }
    done += last
  }
  const open = grouping.end()
  if (open) yield open
}

export function faultLine({ file, line, field, expected, got }: Skipped): string {
  return `${file}:${line}: ${field}: expected ${expected}, got ${got}`
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    const python = /[[:,]\s*(-?Infinity|NaN)\s*[\],}]/.exec(text)?.[1]
    const got = JSON.stringify(text.length <= 60 ? text : `${text.slice(0, 60)}…`)
    throw new RowFault('(line)', 'JSON', python ? `${python}, which JSON does not have` : got)
  }
}
