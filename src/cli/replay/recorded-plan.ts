import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Fence } from '../../../streams/fence.ts'
import { follow, recordAt } from '../../../streams/follow.ts'
import type { TopicLog } from '../../../streams/ports.ts'
import {
  type BatchClosed,
  CascadeError,
  type Checkpoint,
  checkpoints,
  control,
} from '../../../topics/index.ts'
import { storedCheckpoints } from '../../update/stored-checkpoints.ts'
import type { OpenRun } from '../open-run.ts'
import type { Range } from './range.ts'

/** What a replay with the recorded rewards computes. */
export interface RecordedPlan {
  /** Where it starts. */
  readonly start: Checkpoint
  /** Committed checkpoints in order, the start among them. */
  readonly checkpoints: readonly Checkpoint[]
  /** Steps with an update, in order: those of the range, and those before it since the checkpoint. */
  readonly steps: readonly BatchClosed[]
  /** Of those, how many come before the range. */
  readonly before: number
  /** Steps of the range that closed without an update. */
  readonly without: number
}

/**
 * Finds the steps of a range and the newest checkpoint at or before their start whose files are there.
 *
 * @throws `USAGE` where no step of the range is closed with an update; `CHECKPOINT_NOT_FOUND`
 */
export async function recordedPlan(
  { dir, log }: Pick<OpenRun, 'dir' | 'log'>,
  range: Range,
  signal: AbortSignal,
): Promise<RecordedPlan> {
  const first = await recordAt(log, range.topic, range.from)
  const last = await recordAt(log, range.topic, range.to - 1)
  if (!first || !last) {
    throw new CascadeError(
      'LOG_OFFSET_GONE',
      `topic ${range.topic.name}: offsets ${range.from} to ${range.to - 1} are not there`,
    )
  }
  const [low, high] = [range.order(first.value), range.order(last.value)]
  const closed = await closedSteps(log, signal)
  const inRange = closed.filter((c) => range.order(c) >= low && range.order(c) <= high)
  const updated = inRange.filter((c) => c.version > c.baseVersion)
  const [begin] = updated
  if (!begin) {
    throw new CascadeError(
      'USAGE',
      `${range.topic.name}: expected a range with a step that closed with an update, got offsets ${range.from} to ${range.to}, of ${inRange.length} closed steps without`,
    )
  }
  const all = await committed(dir, log, signal)
  const start = startOf(dir, all, begin)
  const steps = updatesSince(
    start,
    closed.filter((c) => range.order(c) <= high),
  )
  const before = steps.length - updated.length
  return { start, checkpoints: all, steps, before, without: inRange.length - updated.length }
}

/** The newest checkpoint at or before the version that a step began from whose files are there. @throws `CHECKPOINT_NOT_FOUND` */
export function startOf(dir: string, committed: readonly Checkpoint[], begin: BatchClosed): Checkpoint {
  const start = committed.findLast((c) => c.version <= begin.baseVersion && isThere(dir, c))
  if (start) return start
  throw new CascadeError(
    'CHECKPOINT_NOT_FOUND',
    `${dir}: expected the files of a checkpoint of version ${begin.baseVersion}, from which step ${begin.stage}/${begin.step} began, or of an earlier one, got none`,
  )
}

/** Of closed steps those with an update since a checkpoint. @throws `STREAM_PROTOCOL` where one between them is missing */
export function updatesSince(start: Checkpoint, closed: readonly BatchClosed[]): BatchClosed[] {
  const steps = closed.filter((c) => c.version > c.baseVersion && c.baseVersion >= start.version)
  let version = start.version
  for (const step of steps) {
    if (step.baseVersion !== version) {
      throw new CascadeError(
        'STREAM_PROTOCOL',
        `control: expected a step that begins from version ${version}, got ${step.stage}/${step.step} from version ${step.baseVersion}`,
      )
    }
    version = step.version
  }
  return steps
}

export async function closedSteps(log: TopicLog, signal: AbortSignal): Promise<BatchClosed[]> {
  const fence = new Fence()
  const closed: BatchClosed[] = []
  await follow(log, control, { from: 0, until: 'end', signal }, ({ value }) => {
    if (fence.admits(value) && value.type === 'batch-closed') closed.push(value)
  })
  return closed
}

/** By the log's records; by what the folders say of themselves where the log has none. */
export async function committed(dir: string, log: TopicLog, signal: AbortSignal): Promise<Checkpoint[]> {
  const all: Checkpoint[] = []
  await follow(log, checkpoints, { from: 0, until: 'end', signal }, (r) => void all.push(r.value))
  return all.length > 0 ? all : storedCheckpoints(dir)
}

export function isThere(dir: string, checkpoint: Checkpoint): boolean {
  return checkpoint.files.every((f) => existsSync(join(dir, checkpoint.path, f.name)))
}
