import { CascadeError, type Reward } from '../../../topics/index.ts'
import type { JudgedRollout } from './step-rewards.ts'

export const verdicts = ['score', 'unparsable', 'error'] as const
/** What became of a rollout's judging; `none`: it has no terminal record yet. */
export type VerdictKind = (typeof verdicts)[number] | 'none'

export interface FilterFlags {
  readonly verdict?: string
  readonly verifier?: string
  readonly reward?: string
  readonly prompt?: string
}

export function verdictOf(reward: Reward | undefined): VerdictKind {
  if (!reward) return 'none'
  if (reward.kind === 'member-lost') return 'error'
  return reward.rewards[0]?.status === 'unparsable' ? 'unparsable' : 'score'
}

/** What passes every filter that is given. @throws `USAGE` */
export function filterOf({
  verdict,
  verifier,
  reward,
  prompt,
}: FilterFlags): (judged: JudgedRollout) => boolean {
  const range = reward === undefined ? undefined : rewardRange(reward)
  const at = verifier?.lastIndexOf('@') ?? -1
  const [name, version] = at > 0 ? [verifier!.slice(0, at), verifier!.slice(at + 1)] : [verifier, undefined]
  return ({ rollout, reward: judged }) => {
    if (prompt !== undefined && rollout.value.promptId !== prompt) return false
    if (verdict !== undefined && verdictOf(judged) !== verdict) return false
    if (range && !(judged?.score !== undefined && judged.score >= range[0] && judged.score <= range[1]))
      return false
    if (name === undefined) return true
    const by = judged?.rewards[0]
    return by?.verifier === name && (version === undefined || by.version === version)
  }
}

/** `MIN..MAX`, both included; either may be left out. */
function rewardRange(text: string): [number, number] {
  const found = /^(.*?)\.\.(.*)$/.exec(text)
  const min = bound(found?.[1], Number.NEGATIVE_INFINITY)
  const max = bound(found?.[2], Number.POSITIVE_INFINITY)
  if (!found || Number.isNaN(min) || Number.isNaN(max) || min > max) {
    throw new CascadeError('USAGE', `--reward: expected MIN..MAX with numbers, MIN at most MAX, got ${text}`)
  }
  return [min, max]
}

function bound(text: string | undefined, none: number): number {
  return text === undefined || text.trim() === '' ? none : Number(text)
}
