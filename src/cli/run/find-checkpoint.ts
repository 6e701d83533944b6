import { follow } from '../../../streams/follow.ts'
import type { TopicLog } from '../../../streams/ports.ts'
import { CascadeError, type Checkpoint, checkpoints } from '../../../topics/index.ts'

/**
 * A committed checkpoint by what a person calls it: its id or the beginning of it, `latest`, or the name of a stage for the
 * one at that stage's end (`start` for the first weights).
 *
 * @throws `CHECKPOINT_NOT_FOUND` naming those there are.
 */
export async function findCheckpoint(log: TopicLog, name: string, signal: AbortSignal): Promise<Checkpoint> {
  const all: Checkpoint[] = []
  await follow(log, checkpoints, { from: 0, until: 'end', signal }, (r) => void all.push(r.value))
  return checkpointNamed(all, name, '--checkpoint')
}

/** The same among those that were committed, in order. `option` is what the name was given with. */
export function checkpointNamed(all: readonly Checkpoint[], name: string, option: string): Checkpoint {
  if (name === 'latest' && all.length > 0) return all.at(-1)!
  const ofStage = all.findLast((c) => c.reason !== 'interval' && c.stage === name)
  if (ofStage) return ofStage
  const matching = new Map(all.filter((c) => c.id.startsWith(name)).map((c) => [c.id, c]))
  const [found] = matching.values()
  if (found && (matching.size === 1 || matching.has(name))) return matching.get(name) ?? found
  const stages = all.filter((c) => c.reason !== 'interval').map((c) => c.stage)
  const known = ['latest', ...stages].join(', ')
  throw new CascadeError(
    'CHECKPOINT_NOT_FOUND',
    `${option}: expected ${known} or an id of topic checkpoints, got ${name}${matching.size > 1 ? `, which ${matching.size} ids begin with` : ''}`,
  )
}
