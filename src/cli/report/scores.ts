import { startStage } from '../../../streams/coordinator-state.ts'
import type { Evaluation, StageSpec } from '../../../topics/index.ts'
import { wilson } from '../../policy/wilson.ts'
import type { Interval } from './types.ts'

export interface Score {
  readonly score: number
  readonly interval: Interval
  readonly n: number
}

/** The forgetting matrix: a score for each stage and domain, the latest where one was evaluated twice. */
export class Scores {
  readonly #cells = new Map<string, Map<string, Score>>()
  readonly domains: string[] = []

  add(e: Evaluation): void {
    if (e.split !== 'held-out') return
    if (!this.domains.includes(e.domain)) this.domains.push(e.domain)
    const row = this.#cells.get(e.stage) ?? new Map<string, Score>()
    this.#cells.set(e.stage, row.set(e.domain, { score: e.score, interval: e.interval, n: e.n }))
  }

  row(stage: string): ReadonlyMap<string, Score> {
    return this.#cells.get(stage) ?? new Map()
  }

  cell(stage: string, domain: string): Score | undefined {
    return this.row(stage).get(domain)
  }

  /**
   * What `stage` reached in `domain`. A domain that nobody evaluates is a mixture: the mean over all that are,
   * once every one of them has its score.
   */
  of(stage: string, domain: string): Score | undefined {
    if (this.domains.includes(domain)) return this.cell(stage, domain)
    const row = this.row(stage)
    if (row.size === 0 || row.size < this.domains.length) return undefined
    const cells = [...row.values()]
    const score = cells.reduce((sum, c) => sum + c.score, 0) / cells.length
    const n = cells.reduce((sum, c) => sum + c.n, 0)
    return { score, n, interval: wilson(score, n) }
  }
}

/** Names of the rows of the matrix in order. */
export function rowNames(stages: readonly Pick<StageSpec, 'name'>[]): string[] {
  return [startStage, ...stages.map((s) => s.name)]
}

/** The row that stands before a stage. */
export function rowBefore(stages: readonly Pick<StageSpec, 'name'>[], stage: string): string {
  return rowNames(stages)[stages.findIndex((s) => s.name === stage)] ?? startStage
}
