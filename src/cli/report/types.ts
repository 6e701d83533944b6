/** A share's 95 % interval. */
export type Interval = readonly [low: number, high: number]

export interface StageReport {
  readonly name: string
  readonly kind: 'sft' | 'rl'
  readonly domain: string
  readonly status: 'pending' | 'running' | 'done'
  /** Steps closed so far. */
  readonly steps: number
  readonly planned: number
  /**
   * Held-out score, from 0 to 1, of the stage's own domain after the stage before it (or of the untrained model), and after
   * it; of a domain that is not evaluated, such as an SFT mixture, the mean over those that are. Null where not known yet.
   */
  readonly before: number | null
  readonly after: number | null
  /** Highest score that any stage's end has shown. */
  readonly best: number | null
  readonly beforeInterval: Interval | null
  readonly afterInterval: Interval | null
  /** From the stage's begin to its end, or to its latest update; null before it begins. */
  readonly seconds: number | null
  /** Why it ended: `steps`, or `no signal`. */
  readonly reason: string | null
}

export interface Fates {
  trained: number
  skipped: number
  dropped: number
  error: number
}

export interface CurvePoint {
  readonly step: number
  /** Mean over the rollouts of every group admitted; null in an SFT stage. */
  readonly reward: number | null
  /** Of the update; null for a step that closed without one. */
  readonly loss: number | null
  readonly entropy: number | null
  readonly gradNorm: number | null
  /** Tokens, mean as for the reward; null in an SFT stage. */
  readonly responseLength: number | null
}

/** What a run has reached, computed from its log. Keys of stages are in the order of the run, `start` first. */
export interface Report {
  readonly run: string
  /** Of Cascade, as it wrote the run. */
  readonly version: string
  readonly seed: number
  readonly deterministic: boolean
  /** `imported` and `rescored`: whole, of rollouts from elsewhere, and without a stage that has begun. */
  readonly status: 'running' | 'done' | 'interrupted' | 'imported' | 'rescored'
  /** Of the weights. */
  readonly policyVersion: number
  /** ISO times of the first and the latest record of `control`, `updates` and `evaluations`. */
  readonly startedAt: string | null
  readonly updatedAt: string | null
  readonly stages: readonly StageReport[]
  readonly domains: readonly string[]
  readonly matrix: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly intervals: Readonly<Record<string, Readonly<Record<string, Interval>>>>
  /** Held-out prompts a domain. */
  readonly prompts: Readonly<Record<string, number>>
  /** Rollouts of closed steps by their fate. An SFT stage has none. */
  readonly fates: Readonly<Record<string, Fates>>
  /** Rollouts of the step that is still open. */
  readonly open: Readonly<Record<string, number>>
  readonly curves: Readonly<Record<string, readonly CurvePoint[]>>
}
