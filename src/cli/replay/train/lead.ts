import { follow } from '../../../../streams/follow.ts'
import type { TopicLog } from '../../../../streams/ports.ts'
import { probedLog } from '../../../../streams/probed-log.ts'
import { CascadeError, checkpoints, control, isCascadeError } from '../../../../topics/index.ts'
import { openLog } from '../../../log/index.ts'
import { localEvaluator } from '../../../policy/evaluator.ts'
import { versionedEngine } from '../../../policy/versioned-engine.ts'
import { CheckpointStore } from '../../../update/checkpoint-store.ts'
import { restoreSink } from '../../../update/restore.ts'
import type { Context } from '../../command.ts'
import { logFolder, type OpenRun } from '../../open-run.ts'
import { reasonOf } from '../../output/reason.ts'
import { computeReport, type Report, writeReportFiles } from '../../report/index.ts'
import { clock, windowOf } from '../../run/assemble.ts'
import { crashPoint } from '../../run/crash-point.ts'
import { compareProfile, engineOf } from '../../run/engine.ts'
import { openEvaluationVerifiers } from '../../run/open-verifiers.ts'
import { sourceOf } from '../../run/prompt-source.ts'
import { type Manifest, readManifest } from '../../run-folder.ts'
import type { LongWork } from '../progress.ts'
import { beginTraining } from './begin.ts'
import type { TrainPlan } from './plan.ts'
import { type TrainOptions, train } from './train.ts'
import { readTraining, trainingFile } from './training.ts'

export interface LeadOptions extends Pick<TrainOptions, 'onStep' | 'onEvaluation'> {
  origin: OpenRun
  /** Folder of the judged run. */
  dir: string
  /** As the command names the start. */
  from: string | undefined
  /** What to set out to do, where the run has not set out yet. */
  plan(): Promise<TrainPlan>
  work: LongWork
  note(text: string): void
  context: Pick<Context, 'signal' | 'env'>
}

/**
 * Trains the judged run in `dir` to its end, from wherever it stands, and writes its report, whatever the end is. Killed at any time it
 * goes on by being called again.
 *
 * @throws `USAGE` where it set out from another checkpoint; what {@link beginTraining} and {@link train} throw
 */
export async function lead(options: LeadOptions): Promise<Report> {
  const { dir, note } = options
  const manifest = await readManifest(dir)
  await using log = await openLog({
    dir: logFolder(dir),
    mode: 'append',
    clock,
    window: windowOf(manifest.config),
  })
  try {
    await trainOn(log, manifest, options)
  } catch (error) {
    await report().catch((cause: unknown) => note(`the report could not be written: ${reasonOf(cause)}`))
    throw error
  }
  return await report()

  async function report(): Promise<Report> {
    const computed = await computeReport(log, manifest, { running: false })
    await writeReportFiles(dir, computed)
    return computed
  }
}

async function trainOn(
  log: Awaited<ReturnType<typeof openLog>>,
  manifest: Manifest,
  options: LeadOptions,
): Promise<void> {
  const { origin, dir, from, work, note, context } = options
  const { signal } = context
  const { config, seed, deterministic } = manifest
  const begun = (await log.offset(checkpoints.name, 'latest')) > 0 ? await readTraining(dir) : undefined
  if (begun && from !== undefined && begun.from !== from) {
    throw new CascadeError(
      'USAGE',
      `--from-checkpoint: expected ${begun.from ?? 'none'}, as the training in ${dir} began with (${trainingFile}), got ${from}`,
    )
  }
  if (begun && (await hasEnded(log, signal))) return
  const plan = begun ? undefined : await options.plan()
  await using engine = await engineOf(config, deterministic)
  let training = begun
  if (begun) {
    const differs = compareProfile(manifest, engine)
    if (differs !== undefined) {
      note(`warning: ${differs}`)
      training = { ...begun, exact: false }
    }
  }
  const probe = crashPoint(context.env)
  const probed = probedLog(log, probe)
  const store = new CheckpointStore(dir, probe)
  const to = { dir, log: probed, epoch: log.epoch, store, manifest }
  training ??= await beginTraining(origin, plan!, to, { engine, from, signal, work })
  const versioned = versionedEngine(engine)
  const sink = await restoreSink({
    log: probed,
    versioned,
    store,
    writerEpoch: log.epoch,
    clock,
    seed,
    keepLast: config.checkpoints.keepLast,
    signal,
    onReapply: (n) => {
      if (n > 0) note(`applying ${n} gradient batches again, since the last checkpoint`)
    },
  })
  const source = await knownTasks(manifest, note)
  await using verifiers =
    source && (await openEvaluationVerifiers(source, source.domains, dir, manifest, context.env))
  const evaluator = source &&
    verifiers && {
      of: localEvaluator({ versioned, source, verifiers, ...config.evaluation, clock, signal }),
      domains: source.domains,
    }
  const { onStep, onEvaluation } = options
  await train({
    log: probed,
    epoch: log.epoch,
    manifest,
    training,
    sink,
    evaluator,
    clock,
    signal,
    onStep,
    onEvaluation,
  })
}

async function hasEnded(log: TopicLog, signal: AbortSignal): Promise<boolean> {
  let ended = false
  await follow(log, control, { from: 0, until: 'end', signal }, ({ value }) => {
    if (value.type === 'run-end') ended = true
  })
  return ended
}

/** The tasks of a run, whose held-out prompts score it; a run of others is trained all the same. */
async function knownTasks({ config, seed }: Manifest, note: (text: string) => void) {
  try {
    return await sourceOf(config, seed)
  } catch (error) {
    if (!isCascadeError(error, 'CONFIG_INVALID')) throw error
    note(`no held-out scores: ${error.message}`)
    return undefined
  }
}
