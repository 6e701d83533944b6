import type { Exported } from '../../exchange/index.ts'
import type { OpenRun } from '../open-run.ts'
import { type FilterFlags, filterOf } from '../replay/filter.ts'
import type { Range } from '../replay/range.ts'
import { judgedRollouts } from '../replay/step-rewards.ts'
import type { Sink } from './sinks.ts'

export interface ExportCounts {
  rollouts: number
  groups: number
  /** Rollouts of the range that the filters left out. */
  filtered: number
  /** Rollouts without a score, for a format in which each has one: an error is not a zero. */
  unscored: number
}

/**
 * Hands the rollouts of a range that pass the filters to a sink, group by group, members in the order of their index. Groups finish in any
 * order in a log: those of the step at hand are held, no more.
 *
 * @throws `USAGE`, `LOG_OFFSET_GONE`, what the sink throws, the signal's reason
 */
export async function exportRows(
  { log }: OpenRun,
  range: Range,
  sink: Sink,
  options: FilterFlags & { scoredOnly: boolean; signal: AbortSignal; onProgress(offset: number): void },
): Promise<ExportCounts> {
  const passes = filterOf(options)
  const counts: ExportCounts = { rollouts: 0, groups: 0, filtered: 0, unscored: 0 }
  const open = new Map<string, { seen: number; members: Exported[] }>()
  const write = async (id: string) => {
    const members = open.get(id)?.members ?? []
    open.delete(id)
    if (members.length === 0) return
    members.sort((a, b) => a.rollout.index - b.rollout.index)
    await sink.write(members)
    counts.groups += 1
    counts.rollouts += members.length
  }
  const rest = async () => {
    for (const id of open.keys()) await write(id)
  }
  let place = -1
  for await (const judged of judgedRollouts(log, range, options.signal)) {
    const { value } = judged.rollout
    options.onProgress(judged.rollout.offset)
    const its = range.order(value)
    if (its !== place) await rest()
    place = its
    const group = open.get(value.groupId) ?? { seen: 0, members: [] }
    open.set(value.groupId, group)
    group.seen += 1
    if (!passes(judged)) counts.filtered += 1
    else if (options.scoredOnly && judged.reward?.score === undefined) counts.unscored += 1
    else group.members.push({ rollout: value, reward: judged.reward })
    if (group.seen >= value.groupSize) await write(value.groupId)
  }
  await rest()
  return counts
}
