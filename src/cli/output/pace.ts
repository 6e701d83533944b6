import type { StageSpec } from '../../../topics/index.ts'

/** Steps whose durations count. */
const recent = 15
/** Milliseconds of samples that a rate is taken over. */
const rateWindow = 15_000
/** Milliseconds within which samples are one. */
const rateGrain = 200

/** How long steps take, and so how long is left. An interruption's gap is one long step, which a median passes over. */
export class Pace {
  readonly #durations = new Map<string, number[]>()
  readonly #evaluations = new Map<string, number>()
  #lastAt = 0

  begin(timestamp: number): void {
    this.#lastAt = timestamp
  }

  advance(stage: StageSpec, steps: number, timestamp: number): void {
    const list = this.#durations.get(stage.name) ?? []
    const each = Math.max(0, timestamp - this.#lastAt) / steps
    for (let i = 0; i < Math.min(steps, recent); i++) list.push(each)
    this.#durations.set(stage.name, list.slice(-recent))
    this.#lastAt = timestamp
  }

  evaluated(domain: string, durationMs: number): void {
    this.#evaluations.set(domain, durationMs)
  }

  /**
   * Milliseconds left of the stage's steps and of the run. A stage to come is taken to cost what the latest one of its
   * kind did, by rollouts or rows a step; undefined where none has run yet.
   */
  left(
    stages: readonly StageSpec[],
    current: StageSpec | undefined,
    step: number,
    now: number,
  ): { stage: number | undefined; run: number | undefined } {
    if (!current) return { stage: undefined, run: undefined }
    const each = this.#step(current.name)
    const remaining = current.steps - step
    const since = Math.min(Math.max(0, now - this.#lastAt), each ?? 0)
    const stage = each === undefined ? undefined : Math.max(0, remaining * each - (remaining > 0 ? since : 0))
    let run = stage
    const evaluation = [...this.#evaluations.values()].reduce((sum, ms) => sum + ms, 0)
    const at = stages.indexOf(current)
    for (const later of stages.slice(at + 1)) {
      const cost = this.#like(stages.slice(0, at + 1), later)
      run = run === undefined || cost === undefined ? undefined : run + cost * later.steps
    }
    return { stage, run: run === undefined ? undefined : run + evaluation * (stages.length - at) }
  }

  #like(before: readonly StageSpec[], stage: StageSpec): number | undefined {
    const known = before.findLast((s) => s.kind === stage.kind && this.#step(s.name) !== undefined)
    return known && (this.#step(known.name)! * work(stage)) / work(known)
  }

  #step(stage: string): number | undefined {
    const sorted = [...(this.#durations.get(stage) ?? [])].sort((a, b) => a - b)
    return sorted[Math.floor(sorted.length / 2)]
  }
}

function work(stage: StageSpec): number {
  return stage.kind === 'rl' ? stage.prompts * stage.groupSize : stage.batch
}

export interface Sample {
  readonly tokens: number
  readonly rollouts: number
  readonly timestamp: number
}

/** Rates over the latest seconds, counted from {@link begin}; samples that come close together are kept as one. */
export class Rate {
  #samples: { tokens: number; rollouts: number; readonly timestamp: number }[] = []
  #begunAt: number | undefined

  /** Forgets all: what came before says nothing of what comes. */
  begin(timestamp: number): void {
    this.#samples = []
    this.#begunAt = timestamp
  }

  add({ tokens, rollouts, timestamp }: Sample): void {
    this.#begunAt ??= timestamp
    const last = this.#samples.at(-1)
    if (last && timestamp - last.timestamp < rateGrain) {
      last.tokens += tokens
      last.rollouts += rollouts
    } else this.#samples.push({ tokens, rollouts, timestamp })
  }

  /** Undefined where nothing came, or for too short a time to tell. */
  at(now: number): { tokens: number | undefined; rollouts: number | undefined } {
    const from = Math.max(this.#begunAt ?? now, now - rateWindow)
    while (this.#samples.length > 0 && this.#samples[0]!.timestamp <= from) this.#samples.shift()
    const seconds = (now - from) / 1000
    if (this.#samples.length === 0 || seconds < 1) return { tokens: undefined, rollouts: undefined }
    const sum = (of: 'tokens' | 'rollouts') => this.#samples.reduce((total, s) => total + s[of], 0) / seconds
    return { tokens: sum('tokens'), rollouts: sum('rollouts') }
  }
}
