import { createHash } from 'node:crypto'
import type { GroupOutcome, RlStage } from '../topics/index.ts'
import { groupAdvantages } from './advantages.ts'

/**
 * The control arm in which nothing can be learnt: the rewards of a step change hands among all members of its
 * groups, across prompts, and the advantages are computed afresh. The permutation depends on `seed` and on the
 * number of rewards alone. Who is a member, its tokens, length and hash stay; the rewards as a whole stay, too.
 *
 * A group that is dealt equal rewards becomes `filtered`, as it would have been otherwise; where that befell every
 * group, they are dealt again, so a step that has an update keeps one.
 */
export function permuteRewards(
  outcomes: readonly GroupOutcome[],
  stage: Pick<RlStage, 'overlong' | 'deviation' | 'minSpread'>,
  seed: string,
): GroupOutcome[] {
  const rewards = outcomes.flatMap((o) =>
    o.members.flatMap((m) => (m.reward === undefined ? [] : [m.reward])),
  )
  // What `zero` takes from a truncated response is part of its reward, and has changed hands with it.
  const options = { ...stage, overlong: stage.overlong === 'zero' ? ('score' as const) : stage.overlong }
  let dealt: GroupOutcome[] = []
  for (let round = 0; round < rounds; round++) {
    const shuffled = permutation(rewards.length, `${seed}/${round}`).map((i) => rewards[i]!)
    let at = 0
    dealt = outcomes.map((outcome) => {
      const members = outcome.members.map(({ advantage: _a, fate: _f, ...m }) =>
        m.reward === undefined ? m : { ...m, reward: shuffled[at++]! },
      )
      return { ...outcome, ...groupAdvantages(members, options) }
    })
    if (dealt.some((o) => o.outcome === 'kept')) break
  }
  return dealt
}

/** Ends the search in a step whose rewards cannot be dealt to a signal. */
const rounds = 64

/** Numbers below `n` in the order of their hashes. */
function permutation(n: number, seed: string): number[] {
  const order = Array.from({ length: n }, (_, i) => ({
    i,
    hash: createHash('sha256').update(`${seed}/${i}`).digest('hex'),
  }))
  return order.sort((a, b) => (a.hash < b.hash ? -1 : 1)).map((o) => o.i)
}
