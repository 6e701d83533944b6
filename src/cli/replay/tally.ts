import type { GroupOutcome, Reward, RlStage } from '../../../topics/index.ts'
import { type VerdictKind, verdictOf } from './filter.ts'
import { groupsOf } from './rebuild.ts'
import type { JudgedRollout } from './step-rewards.ts'

export interface Spread {
  readonly n: number
  readonly mean: number
  readonly min: number
  readonly p50: number
  readonly p95: number
  readonly max: number
}

/** Null of no numbers. Quantiles are the nearest rank's. */
export function spreadOf(numbers: readonly number[]): Spread | null {
  const n = numbers.length
  if (n === 0) return null
  const sorted = Float64Array.from(numbers).sort()
  const at = (share: number) => sorted[Math.min(n - 1, Math.max(0, Math.ceil(share * n) - 1))]!
  const mean = sorted.reduce((sum, x) => sum + x, 0) / n
  return { n, mean, min: sorted[0]!, p50: at(0.5), p95: at(0.95), max: sorted[n - 1]! }
}

export interface Bin {
  readonly from: number
  /** Included. */
  readonly to: number
  readonly n: number
}

const bins = 10

/** How often each score came, or each tenth of their span where there are more than ten. */
export function distribution(scores: readonly number[]): Bin[] {
  const counts = new Map<number, number>()
  for (const s of scores) counts.set(s, (counts.get(s) ?? 0) + 1)
  const each = [...counts].sort(([a], [b]) => a - b)
  if (each.length <= bins) return each.map(([score, n]) => ({ from: score, to: score, n }))
  const low = each[0]![0]
  const width = (each.at(-1)![0] - low) / bins
  const out = Array.from({ length: bins }, (_, i) => ({
    from: low + i * width,
    to: low + (i + 1) * width,
    n: 0,
  }))
  for (const [score, n] of each) out[Math.min(bins - 1, Math.floor((score - low) / width))]!.n += n
  return out
}

export interface Summary {
  readonly rollouts: number
  readonly groups: number
  readonly prompts: number
  readonly steps: Readonly<Record<string, { first: number; last: number }>>
  readonly verdicts: Readonly<Record<VerdictKind, number>>
  readonly outcomes: Readonly<Record<GroupOutcome['outcome'] | 'open', number>>
  readonly errors: Readonly<Record<string, number>>
  readonly verifiers: readonly { verifier: string; version: string; n: number; reward: Spread | null }[]
  readonly reward: Spread | null
  readonly distribution: readonly Bin[]
  readonly tokens: Spread | null
  readonly truncated: number
}

/** What a range holds, added up rollout by rollout. Holds a few numbers of each. */
export class Tally {
  readonly #stage: (name: string) => RlStage | undefined
  readonly #groups = new Set<string>()
  readonly #prompts = new Set<string>()
  readonly #steps: Record<string, { first: number; last: number }> = {}
  readonly #verdicts: Record<VerdictKind, number> = { score: 0, unparsable: 0, error: 0, none: 0 }
  readonly #outcomes = { kept: 0, filtered: 0, lost: 0, open: 0 }
  readonly #errors: Record<string, number> = {}
  readonly #verifiers = new Map<string, { verifier: string; version: string; n: number; scores: number[] }>()
  readonly #scores: number[] = []
  /** Of responses whose tokens are known: an import may have had texts only. */
  readonly #tokens: number[] = []
  #rollouts = 0
  #truncated = 0
  #ofStep = new Map<string, GroupOutcome['outcome'] | 'open'>()

  constructor(stage: (name: string) => RlStage | undefined) {
    this.#stage = stage
  }

  /** The terminal records of a step, before its rollouts. */
  step(terminal: readonly Reward[]): void {
    this.#ofStep = new Map()
    const [first] = terminal
    const stage = first && this.#stage(first.stage)
    if (!stage) return
    for (const [id, members] of groupsOf(terminal)) {
      this.#ofStep.set(id, members.whole ? members.outcome(stage).outcome : 'open')
    }
  }

  add({ rollout: { value: rollout }, reward }: JudgedRollout): void {
    if (!this.#groups.has(rollout.groupId)) {
      this.#groups.add(rollout.groupId)
      this.#outcomes[this.#ofStep.get(rollout.groupId) ?? 'open'] += 1
    }
    this.#prompts.add(rollout.promptId)
    const steps = this.#steps[rollout.stage] ?? { first: rollout.step, last: rollout.step }
    this.#steps[rollout.stage] = steps
    steps.first = Math.min(steps.first, rollout.step)
    steps.last = Math.max(steps.last, rollout.step)
    this.#verdicts[verdictOf(reward)] += 1
    this.#rollouts += 1
    if (!rollout.absent?.includes('responseTokens')) this.#tokens.push(rollout.responseTokens.length)
    if (rollout.status === 'truncated') this.#truncated += 1
    if (reward?.kind === 'member-lost') {
      const reason = reward.reason ?? 'unknown'
      this.#errors[reason] = (this.#errors[reason] ?? 0) + 1
    }
    const score = reward?.score
    if (score !== undefined) this.#scores.push(score)
    const component = reward?.rewards[0]
    if (!component) return
    const { verifier, version } = component
    const key = `${verifier}@${version}`
    const by = this.#verifiers.get(key) ?? { verifier, version, n: 0, scores: [] }
    this.#verifiers.set(key, by)
    by.n += 1
    if (score !== undefined) by.scores.push(score)
  }

  summary(): Summary {
    return {
      rollouts: this.#rollouts,
      groups: this.#groups.size,
      prompts: this.#prompts.size,
      steps: this.#steps,
      verdicts: this.#verdicts,
      outcomes: this.#outcomes,
      errors: this.#errors,
      verifiers: [...this.#verifiers.values()].map(({ scores, ...by }) => ({
        ...by,
        reward: spreadOf(scores),
      })),
      reward: spreadOf(this.#scores),
      distribution: distribution(this.#scores),
      tokens: spreadOf(this.#tokens),
      truncated: this.#truncated,
    }
  }
}
