import type { BatchClosed, RlStage } from '../topics/index.ts'
import type { OutcomeFact } from './coordinator-state.ts'

/** What a step closes with. */
export interface ClosedStep {
  readonly baseVersion: number
  /** `baseVersion` where it closes without an update. */
  readonly version: number
  /** The first update of its stage. */
  readonly opens: boolean
  readonly groups: OutcomeFact[]
  readonly counts: { admitted: number; kept: number; filtered: number; lost: number }
  readonly stats: Record<string, number>
  readonly reason?: string
}

/**
 * Closes a step whose groups all have an outcome: with the first kept ones by admission, never the first to finish, which would favour
 * short answers; without an update where they are too few.
 *
 * @param from the version that the step began with, and whether its update would be the first of the stage
 */
export function closeStep(
  known: readonly OutcomeFact[],
  spec: Pick<RlStage, 'prompts' | 'minGroups'>,
  { version, opens }: { version: number; opens: boolean },
): ClosedStep {
  const kept = known.filter((o) => o.outcome === 'kept').sort((a, b) => a.admission - b.admission)
  const enough = kept.length >= spec.minGroups
  return {
    baseVersion: version,
    version: enough ? version + 1 : version,
    opens: enough && opens,
    groups: enough ? kept.slice(0, spec.prompts) : [],
    counts: {
      admitted: known.length,
      kept: kept.length,
      filtered: known.filter((o) => o.outcome === 'filtered').length,
      lost: known.filter((o) => o.outcome === 'lost').length,
    },
    stats: meansOf(known),
    ...(enough ? {} : { reason: `${kept.length} kept groups of at least ${spec.minGroups}` }),
  }
}

/** Its record. */
export function batchClosedOf({
  stage,
  step,
  settings,
  groups,
  baseVersion,
  version,
  opens,
  counts,
  stats,
  reason,
}: ClosedStep & { stage: RlStage; step: number; settings?: Record<string, number> | undefined }): Omit<
  BatchClosed,
  'epoch' | 'seq'
> {
  return {
    type: 'batch-closed',
    step,
    baseVersion,
    version,
    opens,
    counts,
    stats,
    ...(settings === undefined ? {} : { settings }),
    ...(reason === undefined ? {} : { reason }),
    stage: stage.name,
    groups: groups.map((g) => ({
      groupId: g.groupId,
      admission: g.admission,
      outcomeOffset: g.offset,
      hash: g.hash,
    })),
  }
}

/** Summed in order of admission: the last bits of a mean must not depend on who finished first. */
function meansOf(known: readonly OutcomeFact[]): Record<string, number> {
  const sums = { members: 0, reward: 0, responseLength: 0, truncated: 0 }
  for (const fact of [...known].sort((a, b) => a.admission - b.admission)) {
    sums.members += fact.sums.members
    sums.reward += fact.sums.reward
    sums.responseLength += fact.sums.responseLength
    sums.truncated += fact.sums.truncated
  }
  const { members, reward, responseLength, truncated } = sums
  if (members === 0) return {}
  return {
    reward: reward / members,
    responseLength: responseLength / members,
    truncated: truncated / members,
  }
}
