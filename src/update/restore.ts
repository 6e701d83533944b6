import { follow, recordAt } from '../../streams/follow.ts'
import type { Clock, TopicLog, UpdateSink } from '../../streams/ports.ts'
import { CascadeError, type Checkpoint, checkpoints, gradientBatches } from '../../topics/index.ts'
import type { VersionedEngine } from '../policy/versioned-engine.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import { engineSink, keptOf } from './engine-sink.ts'
import { loadCheckpoint, loadFolder } from './load-checkpoint.ts'

export interface RestoreOptions {
  log: TopicLog
  versioned: VersionedEngine
  store: CheckpointStore
  writerEpoch: number
  clock: Clock
  /** Seed of the first weights. */
  seed: number
  /** Folder of a checkpoint to begin from instead. */
  init?: string
  keepLast: number
  signal: AbortSignal
  /** Told how many settled batches are applied again. */
  onReapply?: (batches: number) => void
}

/**
 * The update sink as the log left it: the last checkpoint, and the settled gradient batches after it applied again
 * without a record. A new run's first weights are written and committed as its `initial` checkpoint.
 *
 * @throws `CHECKPOINT_NOT_FOUND`, `CHECKPOINT_INVALID`, `CHECKPOINT_SHAPE`, `POLICY_VERSION`, `ENGINE_FAILED`
 */
export async function restoreSink(options: RestoreOptions): Promise<UpdateSink> {
  const { log, versioned, store, writerEpoch, clock, keepLast, signal } = options
  const records: Checkpoint[] = []
  await follow(log, checkpoints, { from: 0, until: 'end', signal }, (r) => void records.push(r.value))
  const last = records.at(-1)
  if (!last) {
    if (options.init === undefined) await versioned.engine.initialise(options.seed)
    else await loadFolder(versioned, options.init)
    versioned.set(0)
    const sink = engineSink({ versioned, store, writerEpoch, clock, keepLast, checkpoints: [] })
    const value = await sink.checkpoint({
      stage: 'start',
      step: 0,
      reason: 'initial',
      gradientBatchOffset: 0,
    })
    await log.commit({ append: [{ topic: checkpoints, value }], settle: [] })
    return sink
  }
  // What a crash left half-written, or written and never committed.
  await store.prune(keptOf(records, keepLast))
  const stage = await loadWithReference(versioned, store, last, records)
  const sink = engineSink({
    versioned,
    store,
    writerEpoch,
    clock,
    keepLast,
    checkpoints: records,
    ...(stage === undefined ? {} : { stage }),
  })
  const { floor } = await log.position('update', gradientBatches.name)
  options.onReapply?.(Math.max(0, floor - last.gradientBatchOffset))
  for (let offset = last.gradientBatchOffset; offset < floor; offset++) {
    signal.throwIfAborted()
    const batch = await recordAt(log, gradientBatches, offset)
    if (!batch)
      throw new CascadeError('LOG_OFFSET_GONE', `gradient-batches: offset ${offset} is needed to restore`)
    if (batch.value.kind === 'batch') await sink.apply(batch.value, offset)
  }
  return sink
}

/**
 * A committed checkpoint as a run stood at it: in the middle of a stage, what the KL term refers to is the checkpoint that the stage
 * began from. Returns that stage, or nothing between two stages.
 *
 * @param records those committed, in order, the checkpoint among them
 * @throws `CHECKPOINT_NOT_FOUND`, `CHECKPOINT_INVALID`, `CHECKPOINT_SHAPE`
 */
export async function loadWithReference(
  versioned: VersionedEngine,
  store: CheckpointStore,
  checkpoint: Checkpoint,
  records: readonly Checkpoint[],
): Promise<string | undefined> {
  let stage: string | undefined
  if (checkpoint.reason === 'interval') {
    const before = records.slice(0, records.indexOf(checkpoint)).findLast((c) => c.reason !== 'interval')
    if (!before) {
      throw new CascadeError(
        'CHECKPOINT_NOT_FOUND',
        `checkpoints: expected one before stage ${checkpoint.stage}`,
      )
    }
    await loadCheckpoint(versioned, store, before)
    await versioned.engine.setReference()
    stage = checkpoint.stage
  }
  await loadCheckpoint(versioned, store, checkpoint)
  return stage
}
