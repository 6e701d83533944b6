import type { Verdict } from '../../../streams/ports.ts'
import { CascadeError, type Rollout } from '../../../topics/index.ts'
import type { Sample } from '../judge.ts'
import { type Limits, Pool } from '../pool/index.ts'
import type { Stored } from './store.ts'
import { targetOf } from './stored-verifier.ts'
import { type About, aboutSchema, type UserRequest } from './user-verifier.ts'

export interface PreflightOptions {
  /** As a person named it, for messages. */
  entry: string
  module: Pick<Stored, 'file' | 'options'>
  limits: Partial<Limits>
  /** Recorded rollouts that it must be able to judge, whatever it says of them. */
  rollouts: readonly Rollout[]
  signal: AbortSignal
}

/** Share of recorded rollouts that may end in an error. */
const errorShare = 0.2

/** So many that hang are enough to tell: each takes its whole time limit, while a person waits. */
const hangsAllowed = 1

/**
 * Loads a candidate in a process of its own and tries it: its good samples must score at least 0.5, its bad ones less, and recorded rollouts
 * must get verdicts.
 *
 * @throws CascadeError VERIFIER_FAILED naming what it got wrong
 */
export async function preflight(options: PreflightOptions): Promise<About> {
  const { entry, module, limits, rollouts, signal } = options
  await using pool = new Pool(targetOf(module), { size: 1, limits, startMs: 30_000 })
  const ask = async (request: UserRequest): Promise<Verdict> => (await pool.submit(request, signal)).verdict
  const refuse = (why: string) => new CascadeError('VERIFIER_FAILED', `${entry}: ${why}`)
  const told = await ask({ kind: 'about' })
  if (told.outcome === 'failed') throw refuse(told.message)
  const about = aboutSchema.parse(told.detail)
  const { good, bad } = about.samples ?? { good: [], bad: [] }
  for (const [kind, samples] of [
    ['good', good],
    ['bad', bad],
  ] as const) {
    for (const [i, sample] of samples.entries()) {
      const verdict = await ask({ kind: 'sample', sample: sample as Sample })
      if (verdict.outcome === 'failed') throw refuse(`${kind} sample ${i}: ${verdict.message}`)
      if (verdict.score >= 0.5 !== (kind === 'good')) {
        const expected = kind === 'good' ? 'at least 0.5' : 'less than 0.5'
        throw refuse(`${kind} sample ${i}: expected a score of ${expected}, got ${verdict.score}`)
      }
    }
  }
  await tryRollouts(rollouts, (rollout) => ask({ kind: 'rollout', rollout }), refuse)
  return about
}

/** One after the other, and no further than it takes to know. @throws what `refuse` makes of too many errors */
async function tryRollouts(
  rollouts: readonly Rollout[],
  judge: (rollout: Rollout) => Promise<Verdict>,
  refuse: (why: string) => Error,
): Promise<void> {
  let [errors, hangs] = [0, 0]
  for (const [i, rollout] of rollouts.entries()) {
    const verdict = await judge(rollout)
    if (verdict.outcome !== 'failed') continue
    errors += 1
    if (verdict.code === 'VERIFIER_TIMEOUT') hangs += 1
    if (errors > errorShare * rollouts.length || hangs > hangsAllowed) {
      throw refuse(`${errors} of ${i + 1} recorded rollouts end in an error: ${verdict.message}`)
    }
  }
}
