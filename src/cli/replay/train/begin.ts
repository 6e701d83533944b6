import type { Append, TopicLog } from '../../../../streams/ports.ts'
import {
  type Checkpoint,
  type Control,
  checkpoints,
  control,
  type RlStage,
} from '../../../../topics/index.ts'
import type { Engine } from '../../../model/engine/index.ts'
import { versionedEngine } from '../../../policy/versioned-engine.ts'
import { CheckpointStore } from '../../../update/checkpoint-store.ts'
import { engineSink } from '../../../update/engine-sink.ts'
import type { OpenRun } from '../../open-run.ts'
import { clock } from '../../run/assemble.ts'
import { profileDifference } from '../../run/engine.ts'
import { type Manifest, manifestFile, writeWhole } from '../../run-folder.ts'
import type { LongWork } from '../progress.ts'
import { rebuild } from '../rebuild.ts'
import { plannedStep } from './lineage.ts'
import type { TrainPlan } from './plan.ts'
import { type Training, trainingFile } from './training.ts'

/** Bounds of the ratio where the stage has none, as it needs none while it samples its own rollouts (PPO's usual ones). */
export const defaultClip = { clipLow: 0.2, clipHigh: 0.2 } as const

export function clipOf({ clipLow, clipHigh }: RlStage): Training['clip'] {
  if (clipLow === undefined && clipHigh === undefined) return { ...defaultClip }
  return {
    ...(clipLow === undefined ? {} : { clipLow }),
    ...(clipHigh === undefined ? {} : { clipHigh }),
  }
}

/**
 * Makes a judged run one that trains: with the first weights, and what a KL term refers to, of the run that sampled. Until its one commit
 * nothing of it counts, and it can be done again.
 *
 * @throws what {@link rebuild} throws; `RUN_DIR_UNUSABLE`, `LOG_FULL`
 */
export async function beginTraining(
  origin: OpenRun,
  plan: TrainPlan,
  to: { dir: string; log: TopicLog; epoch: number; store: CheckpointStore; manifest: Manifest },
  options: { engine: Engine; from: string | undefined; signal: AbortSignal; work: LongWork },
): Promise<Training> {
  const { engine, from, signal, work } = options
  const { dir, log, epoch, store, manifest } = to
  const { stage } = plan
  let done = 0
  const start = {
    start: plan.start,
    checkpoints: plan.checkpoints,
    steps: plan.before,
    before: 0,
    without: 0,
  }
  for await (const { closed } of rebuild(origin, engine, start, { inexact: false, signal })) {
    done += 1
    work.at(`rebuilt step ${closed.stage}/${closed.step}, before the range: ${done} of ${plan.before.length}`)
  }
  const sink = engineSink({
    versioned: versionedEngine(engine, plan.version),
    store,
    writerEpoch: epoch,
    clock,
    checkpoints: [],
    keepLast: manifest.config.checkpoints.keepLast,
  })
  const offset = { gradientBatchOffset: 0 }
  const first: Checkpoint[] = [
    await sink.checkpoint({ stage: 'start', step: 0, reason: 'initial', ...offset }),
  ]
  if (plan.reference) {
    // In this order a restart in the middle of a stage finds what the stage began from.
    const step = plan.steps[0]!.step - 1
    const again = await sink.checkpoint({ stage: stage.name, step, reason: 'interval', ...offset })
    first.push(await copied(origin.dir, plan.reference, store, epoch), again)
  }
  const training: Training = {
    format: 1,
    stage: stage.name,
    from: from ?? null,
    checkpoint: plan.start.id,
    version: plan.version,
    goesOn: plan.goesOn,
    exact: plan.onLine && profileDifference(origin.manifest, engine) === undefined,
    clip: clipOf(stage),
    steps: plan.steps.map((closed) => ({ ...plannedStep(closed), groups: closed.groups.length })),
  }
  await writeWhole(dir, trainingFile, training)
  manifest.profile = { ...engine.profile }
  await writeWhole(dir, manifestFile, manifest)
  const { seed, deterministic, configHash, runId } = manifest
  const fenced = { epoch }
  const said: Control[] = [
    { type: 'run-begin', ...fenced, seq: 0, runId, seed, deterministic, configHash, stages: [stage] },
    { type: 'stage-begin', ...fenced, seq: 1, stage: stage.name, index: 0, version: plan.version },
  ]
  const append: Append[] = [
    ...first.map((value) => ({ topic: checkpoints, value })),
    ...said.map((value) => ({ topic: control, value })),
  ]
  await log.commit({ append, settle: [] })
  return training
}

async function copied(
  from: string,
  checkpoint: Checkpoint,
  to: CheckpointStore,
  writerEpoch: number,
): Promise<Checkpoint> {
  const read = await new CheckpointStore(from).read(checkpoint)
  const files = checkpoint.files.map(({ name }) => ({ name, bytes: read.get(name)! }))
  const { path } = await to.write(checkpoint.version, writerEpoch, files)
  return { ...checkpoint, path, writerEpoch, gradientBatchOffset: 0 }
}
