import type { GroupMember, GroupOutcome, RlStage } from '../topics/index.ts'

export interface AdvantageOptions {
  /**
   * What becomes of a response that was cut off at the length cap. `score`: as its reward says. `zero`: its reward is 0 and it
   * stays in the group. `mask`: it counts in mean and deviation and has no weight in the loss. `skip`: neither.
   */
  overlong: RlStage['overlong']
  /** Divide squares by n, or by n - 1. */
  deviation: RlStage['deviation']
  /** A group whose rewards spread at most this much (maximum less minimum) has no signal. */
  minSpread: number
  /** Added to the deviation. @default 0: a group that is kept spreads more than `minSpread`, so it never divides by zero */
  epsilon?: number
}

/** One member as its terminal record says: without a reward it is lost. */
export type Judged = Pick<
  GroupMember,
  'rolloutId' | 'index' | 'rolloutOffset' | 'rolloutHash' | 'reward' | 'responseLength' | 'truncated'
>

export type Outcome = Pick<GroupOutcome, 'outcome' | 'reason' | 'baseline' | 'members'>

/**
 * Group-normalised advantages `(r - mean) / deviation` (GRPO; arXiv 2512.13607, Eq. 1) in double precision. Mean and deviation are those of
 * the survivors: an error is not a zero and has no part in them. The result depends on the members, not on their order.
 *
 * `lost`: fewer than two members have a reward. `filtered`: no signal, for the reason `spread` or `overlong` (too few
 * members left by `skip`, or none with weight). Otherwise `kept`, in which each member is `trained` with an advantage, `skipped`
 * or an `error`; in a group that is not kept, members with a reward are `dropped` with it.
 */
export function groupAdvantages(judged: readonly Judged[], options: AdvantageOptions): Outcome {
  const { overlong, deviation: kind, minSpread, epsilon = 0 } = options
  const members = judged
    .map((m) => (overlong === 'zero' && m.truncated && m.reward !== undefined ? { ...m, reward: 0 } : m))
    .sort((a, b) => a.index - b.index)
  const rewarded = members.filter((m) => m.reward !== undefined)
  if (rewarded.length < 2) return left(members, 'lost', 'too-few-survivors', nothing)
  const counted = overlong === 'skip' ? rewarded.filter((m) => !m.truncated) : rewarded
  if (counted.length < 2) return left(members, 'filtered', 'overlong', nothing)
  const rewards = counted.map((m) => m.reward!)
  const baseline = statistics(rewards, kind)
  const spread = Math.max(...rewards) - Math.min(...rewards)
  // Squares of tiny differences can vanish although the spread does not.
  if (spread <= minSpread || baseline.deviation === 0) return left(members, 'filtered', 'spread', baseline)
  const masks = overlong === 'skip' || overlong === 'mask'
  if (masks && counted.every((m) => m.truncated)) return left(members, 'filtered', 'overlong', baseline)
  return {
    outcome: 'kept',
    baseline,
    members: members.map((m) => {
      if (m.reward === undefined) return { ...m, fate: 'error' }
      if (masks && m.truncated) return { ...m, fate: 'skipped' }
      return { ...m, advantage: (m.reward - baseline.mean) / (baseline.deviation + epsilon), fate: 'trained' }
    }),
  }
}

const nothing = Object.freeze({ mean: 0, deviation: 0 })

function statistics(rewards: readonly number[], kind: AdvantageOptions['deviation']) {
  const n = rewards.length
  const mean = rewards.reduce((sum, r) => sum + r, 0) / n
  const squares = rewards.reduce((sum, r) => sum + (r - mean) ** 2, 0)
  return { mean, deviation: Math.sqrt(squares / (kind === 'sample' ? n - 1 : n)) }
}

function left(
  members: readonly Judged[],
  outcome: 'filtered' | 'lost',
  reason: string,
  baseline: Outcome['baseline'],
): Outcome {
  return {
    outcome,
    reason,
    baseline: { ...baseline },
    members: members.map((m) => ({ ...m, fate: m.reward === undefined ? 'error' : 'dropped' })),
  }
}
