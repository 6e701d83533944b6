import type { GroupOutcome, Reward, RlStage } from '../../../topics/index.ts'
import { type VerdictKind, verdictOf } from './filter.ts'
import { groupsOf } from './rebuild.ts'
import { type Spread, spreadOf } from './tally.ts'

type Verdicts = Record<VerdictKind, number>

export interface PairedReport {
  readonly rollouts: number
  readonly before: Verdicts
  readonly after: Verdicts
  /** How many went from which verdict to which. */
  readonly moves: Record<VerdictKind, Verdicts>
  /** Of rollouts that have a reward both times. An error has none, and is no part of any of these. */
  readonly paired: {
    readonly n: number
    readonly up: number
    readonly down: number
    readonly same: number
    readonly meanBefore: number | null
    readonly meanAfter: number | null
    readonly difference: number | null
    /** 95 %, of the mean difference; groups are the sampling units. Null of fewer than two groups. */
    readonly interval: readonly [number, number] | null
  }
  readonly groups: {
    /** That are whole both times. */
    readonly compared: number
    /** With another advantage for some member, or none where there was one. */
    readonly changed: number
    readonly outcomes: Readonly<Record<string, number>>
  }
  /** By code. */
  readonly errors: Readonly<Record<string, number>>
  /** Milliseconds a rollout. */
  readonly latency: Spread | null
}

const z = 1.959963984540054

const none = (): Verdicts => ({ score: 0, unparsable: 0, error: 0, none: 0 })

/** Adds up what became of each rollout's reward. Holds a few numbers a group. */
export class Paired {
  readonly #before = none()
  readonly #after = none()
  readonly #moves = { score: none(), unparsable: none(), error: none(), none: none() }
  readonly #byGroup = new Map<string, { n: number; sum: number }>()
  readonly #latencies: number[] = []
  readonly #errors: Record<string, number> = {}
  readonly #outcomes: Record<string, number> = {}
  #rollouts = 0
  #up = 0
  #down = 0
  #same = 0
  #sumBefore = 0
  #sumAfter = 0
  #compared = 0
  #changed = 0

  add(groupId: string, before: Reward | undefined, after: Reward | undefined): void {
    const [from, to] = [verdictOf(before), verdictOf(after)]
    this.#rollouts += 1
    this.#before[from] += 1
    this.#after[to] += 1
    this.#moves[from][to] += 1
    const latency = after?.rewards[0]?.latencyMs
    if (latency !== undefined) this.#latencies.push(latency)
    if (after?.kind === 'member-lost') {
      const reason = after.reason ?? 'unknown'
      this.#errors[reason] = (this.#errors[reason] ?? 0) + 1
    }
    if (before?.score === undefined || after?.score === undefined) return
    const difference = after.score - before.score
    if (difference > 0) this.#up += 1
    else if (difference < 0) this.#down += 1
    else this.#same += 1
    this.#sumBefore += before.score
    this.#sumAfter += after.score
    const group = this.#byGroup.get(groupId) ?? { n: 0, sum: 0 }
    this.#byGroup.set(groupId, group)
    group.n += 1
    group.sum += difference
  }

  /** The terminal records of one step, both times. */
  step(stage: RlStage, before: readonly Reward[], after: readonly Reward[]): void {
    const old = groupsOf(before)
    for (const [id, members] of groupsOf(after)) {
      const was = old.get(id)
      if (!members.whole || !was?.whole) continue
      const [a, b] = [was.outcome(stage), members.outcome(stage)]
      this.#compared += 1
      const move = `${a.outcome} to ${b.outcome}`
      this.#outcomes[move] = (this.#outcomes[move] ?? 0) + 1
      if (advantages(a) !== advantages(b)) this.#changed += 1
    }
  }

  report(): PairedReport {
    const n = this.#up + this.#down + this.#same
    const mean = (sum: number) => (n === 0 ? null : sum / n)
    return {
      rollouts: this.#rollouts,
      before: this.#before,
      after: this.#after,
      moves: this.#moves,
      paired: {
        n,
        up: this.#up,
        down: this.#down,
        same: this.#same,
        meanBefore: mean(this.#sumBefore),
        meanAfter: mean(this.#sumAfter),
        difference: mean(this.#sumAfter - this.#sumBefore),
        interval: meanInterval([...this.#byGroup.values()]),
      },
      groups: { compared: this.#compared, changed: this.#changed, outcomes: this.#outcomes },
      errors: this.#errors,
      latency: spreadOf(this.#latencies),
    }
  }
}

function advantages(outcome: GroupOutcome): string {
  return JSON.stringify(outcome.members.map((m) => [m.index, m.fate, m.advantage ?? null]))
}

/**
 * 95 % interval of a mean over all members of groups, whose members are alike: the spread between groups is what counts, not that
 * between members (the ratio estimator of cluster sampling; Cochran, Sampling Techniques, 1977, 9A).
 */
export function meanInterval(groups: readonly { n: number; sum: number }[]): [number, number] | null {
  const count = groups.length
  if (count < 2) return null
  const n = groups.reduce((total, g) => total + g.n, 0)
  const mean = groups.reduce((total, g) => total + g.sum, 0) / n
  const squares = groups.reduce((total, g) => total + (g.sum - mean * g.n) ** 2, 0)
  const half = (z * Math.sqrt((squares * count) / (count - 1))) / n
  return [mean - half, mean + half]
}
