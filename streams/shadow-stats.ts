import type { Shadow } from '../topics/index.ts'

/** A paired comparison: every rollout that both versions gave a score. */
export interface ShadowSummary {
  /** Rollouts that the candidate was given. */
  judged: number
  /** Of those, with a score on both sides. */
  paired: number
  errors: number
  /** Pairs that the candidate puts on the other side of 0.5. */
  up: number
  down: number
  activeMean: number
  candidateMean: number
  /** Candidate less active, its mean over whole groups and the half width of its 95 % interval; groups are the independent unit. */
  difference: { mean: number; halfWidth: number; groups: number }
  /** Whole groups in which the advantage of a member moves by more than 0.01, and the mean of the moves. */
  advantages: { groups: number; changed: number; meanMove: number }
  /** Milliseconds, medians. */
  activeMs: number
  candidateMs: number
}

interface Pair {
  active: number
  candidate: number
}

/** Groups that wait for their last member; beyond that the oldest is left out of what is said of groups. */
const maxOpenGroups = 4_096
/** Latencies that the medians are of, the newest. */
const keptLatencies = 4_096
const negligible = 0.01

/** Folds shadow records of one candidate. */
export class ShadowStats {
  #judged = 0
  #errors = 0
  #paired = 0
  #up = 0
  #down = 0
  #active = 0
  #candidate = 0
  readonly #open = new Map<string, Pair[]>()
  /** Of whole groups: number, sum and sum of squares of the mean difference. */
  readonly #groups = { n: 0, sum: 0, squares: 0, changed: 0, moves: 0 }
  readonly #latencies: [active: number, candidate: number][] = []

  get judged(): number {
    return this.#judged
  }

  get errorShare(): number {
    return this.#judged === 0 ? 0 : this.#errors / this.#judged
  }

  get flipShare(): number {
    return this.#paired === 0 ? 0 : (this.#up + this.#down) / this.#paired
  }

  add({ groupId, groupSize, active, candidate }: Shadow): void {
    this.#judged += 1
    this.#latencies[this.#judged % keptLatencies] = [active.latencyMs, candidate.latencyMs]
    if (candidate.status === 'error' || candidate.status === 'timeout') this.#errors += 1
    if (active.score === undefined || candidate.score === undefined) return
    this.#paired += 1
    this.#active += active.score
    this.#candidate += candidate.score
    if (active.score < 0.5 && candidate.score >= 0.5) this.#up += 1
    if (active.score >= 0.5 && candidate.score < 0.5) this.#down += 1
    const pairs = this.#open.get(groupId) ?? []
    pairs.push({ active: active.score, candidate: candidate.score })
    if (pairs.length < groupSize) {
      this.#open.set(groupId, pairs)
      if (this.#open.size > maxOpenGroups) this.#open.delete(this.#open.keys().next().value!)
      return
    }
    this.#open.delete(groupId)
    this.#whole(pairs)
  }

  summary(): ShadowSummary {
    const { n, sum, squares, changed, moves } = this.#groups
    const mean = n === 0 ? 0 : sum / n
    const variance = n < 2 ? 0 : Math.max(0, (squares - n * mean * mean) / (n - 1))
    const known = this.#latencies.filter((l) => l !== undefined)
    return {
      judged: this.#judged,
      paired: this.#paired,
      errors: this.#errors,
      up: this.#up,
      down: this.#down,
      activeMean: this.#paired === 0 ? 0 : this.#active / this.#paired,
      candidateMean: this.#paired === 0 ? 0 : this.#candidate / this.#paired,
      difference: { mean, halfWidth: n < 2 ? 0 : 1.96 * Math.sqrt(variance / n), groups: n },
      advantages: { groups: n, changed, meanMove: n === 0 ? 0 : moves / n },
      activeMs: median(known.map(([active]) => active)),
      candidateMs: median(known.map(([, candidate]) => candidate)),
    }
  }

  #whole(pairs: readonly Pair[]): void {
    const g = this.#groups
    const difference = pairs.reduce((a, p) => a + p.candidate - p.active, 0) / pairs.length
    const before = normalised(pairs.map((p) => p.active))
    const after = normalised(pairs.map((p) => p.candidate))
    const moves = before.map((a, i) => Math.abs(a - after[i]!))
    g.n += 1
    g.sum += difference
    g.squares += difference * difference
    if (moves.some((m) => m > negligible)) g.changed += 1
    g.moves += moves.reduce((a, b) => a + b, 0) / moves.length
  }
}

/** Group-normalised advantages; all 0 where the scores are all alike. */
function normalised(scores: readonly number[]): number[] {
  const mean = scores.reduce((a, b) => a + b, 0) / scores.length
  const deviation = Math.sqrt(scores.reduce((a, s) => a + (s - mean) ** 2, 0) / scores.length)
  return scores.map((s) => (deviation < 1e-6 ? 0 : (s - mean) / deviation))
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[sorted.length >> 1] ?? 0
}
