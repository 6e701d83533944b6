import type { Output } from '../command.ts'
import { rounded } from '../output/format.ts'
import type { VerdictLine } from './score-file.ts'

/** What `--json` prints. */
export interface Counts {
  kind: string
  cases: number
  score: number
  unparsable: number
  error: number
  /** Of those with a score. */
  mean: number | null
  /** Of those with a score above 0. */
  positive: number
  errors: Record<string, number>
  seconds: number
  casesPerSecond: number
}

/** Counts of verdicts, and how fast they come. */
export class Tally {
  readonly #kind: string
  readonly #began = performance.now()
  readonly #outcomes = { score: 0, unparsable: 0, error: 0 }
  readonly #codes = new Map<string, number>()
  #positive = 0
  #sum = 0

  constructor(kind: string) {
    this.#kind = kind
  }

  get errors(): number {
    return this.#outcomes.error
  }

  add({ outcome, score, code }: VerdictLine): void {
    this.#outcomes[outcome] += 1
    if (outcome === 'score') {
      this.#sum += score!
      if (score! > 0) this.#positive += 1
    }
    if (code !== undefined) this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1)
  }

  counts(): Counts {
    const { score, unparsable, error } = this.#outcomes
    const cases = score + unparsable + error
    const seconds = (performance.now() - this.#began) / 1000
    return {
      kind: this.#kind,
      cases,
      ...this.#outcomes,
      mean: score === 0 ? null : this.#sum / score,
      positive: this.#positive,
      errors: Object.fromEntries(this.#codes),
      seconds,
      casesPerSecond: cases / seconds,
    }
  }

  line(): string {
    const c = this.counts()
    const codes = Object.entries(c.errors).map(([code, n]) => `${n} ${code}`)
    const parts = [
      `${c.cases} cases`,
      `${c.positive} above 0, mean ${c.mean === null ? '–' : c.mean.toFixed(3)}`,
      `${c.unparsable} unparsable`,
      `${c.error} errors${codes.length > 0 ? ` (${codes.join(', ')})` : ''}`,
      `${rounded(c.casesPerSecond)}/s`,
    ]
    return parts.join(' · ')
  }

  /** Shows the line while work goes on: in place on a terminal, every ten seconds elsewhere. Returns what ends it. */
  show(output: Output): () => void {
    const terminal = output.isTTY === true
    const timer = setInterval(
      () => output.write(terminal ? `\r\x1b[K${this.line()}` : `${this.line()}\n`),
      terminal ? 200 : 10_000,
    )
    return () => {
      clearInterval(timer)
      if (terminal) output.write('\r\x1b[K')
    }
  }
}
