import { asyncScheduler } from 'rxjs'
import { cascade } from '../../../streams/cascade.ts'
import { follow } from '../../../streams/follow.ts'
import { probedLog } from '../../../streams/probed-log.ts'
import { control } from '../../../topics/index.ts'
import { topicNamed } from '../../../topics/registry.ts'
import { type EmbeddedLog, openLog } from '../../log/index.ts'
import type { Engine } from '../../model/engine/index.ts'
import { localEvaluator } from '../../policy/evaluator.ts'
import { localPolicy } from '../../policy/local.ts'
import { versionedEngine } from '../../policy/versioned-engine.ts'
import { CheckpointStore } from '../../update/checkpoint-store.ts'
import { restoreSink } from '../../update/restore.ts'
import { builtInVerifiers } from '../../verifiers/registry.ts'
import type { Context } from '../command.ts'
import { receivedCommands } from '../control-inbox.ts'
import { logFolder } from '../open-run.ts'
import type { Progress } from '../output/progress.ts'
import { computeReport, type Report, writeReportFiles } from '../report/index.ts'
import type { Manifest } from '../run-folder.ts'
import { crashPoint } from './crash-point.ts'
import { sourceOf } from './prompt-source.ts'
import { watch } from './watch.ts'

export interface RunCascadeOptions {
  dir: string
  manifest: Manifest
  engine: Engine
  progress: Progress
  context: Pick<Context, 'signal' | 'env'>
}

const clock = { now: () => Date.now() }

/**
 * Runs, or goes on with, the run in `dir` until it ends or is stopped, and writes its report then, whatever the
 * end was.
 *
 * @throws what the run failed with; the signal's reason. The run can be resumed.
 */
export async function runCascade(
  options: RunCascadeOptions,
): Promise<{ end: 'done' | 'stopped'; report: Report }> {
  const { dir, manifest } = options
  const log = await openLog({ dir: logFolder(dir), mode: 'append', clock })
  try {
    let end: 'done' | 'stopped'
    try {
      end = await train(log, options)
    } catch (error) {
      await report(log, dir, manifest).catch((cause: unknown) =>
        options.progress.note(`the report could not be written: ${String(cause)}`),
      )
      throw error
    }
    return { end, report: await report(log, dir, manifest) }
  } finally {
    await log.close()
  }
}

async function report(log: EmbeddedLog, dir: string, manifest: Manifest): Promise<Report> {
  const computed = await computeReport(log, manifest, { running: false })
  await writeReportFiles(dir, computed)
  return computed
}

async function train(log: EmbeddedLog, options: RunCascadeOptions): Promise<'done' | 'stopped'> {
  const { dir, manifest, engine, progress, context } = options
  const { config, seed } = manifest
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, over.signal])
  const probe = crashPoint(context.env)
  const probed = probedLog(log, probe)
  const source = sourceOf(config, seed)
  const versioned = versionedEngine(engine)
  const store = new CheckpointStore(dir, probe)
  const rlDomains = [...new Set(config.stages.flatMap((s) => (s.kind === 'rl' ? [s.domain] : [])))]
  const show = await watch(log, rlDomains, progress, signal)
  const watching = Promise.all([show(), retaining(log, signal)]).catch((error: unknown) => {
    if (!signal.aborted) over.abort(error)
  })
  try {
    const sink = await restoreSink({
      log: probed,
      versioned,
      store,
      writerEpoch: log.epoch,
      clock,
      seed,
      ...(config.model.init === undefined ? {} : { init: config.model.init }),
      keepLast: config.checkpoints.keepLast,
      signal,
      onReapply: (n) => {
        if (n > 0) progress.note(`applying ${n} gradient batches again, since the last checkpoint`)
      },
    })
    const { microBatchTokens, decodeRows } = config.engine
    const evaluation = config.evaluation
    return await cascade(probed, {
      runId: manifest.runId,
      seed,
      deterministic: manifest.deterministic,
      configHash: manifest.configHash,
      stages: config.stages,
      epoch: log.epoch,
      source,
      evaluator: localEvaluator({
        versioned,
        source,
        prompts: evaluation.prompts,
        ...(evaluation.maxTokens === undefined ? {} : { maxTokens: evaluation.maxTokens }),
        clock,
        signal,
      }),
      inbox: (until) => receivedCommands(log, until),
      policy: localPolicy(versioned, store),
      verifiers: builtInVerifiers(),
      sink,
      credit: config.credit,
      plan: { maxTokens: microBatchTokens, align: 8 },
      decodeRows,
      verify: config.verify,
      scheduler: asyncScheduler,
      clock,
      probe,
      signal,
    })
  } finally {
    over.abort()
    await watching
  }
}

/** Lets old records go whenever a stage has ended: no restart needs anything of it then. */
async function retaining(log: EmbeddedLog, signal: AbortSignal): Promise<void> {
  const from = await log.offset(control.name, 'latest')
  await follow(log, control, { from, signal }, async ({ value }) => {
    if (value.type !== 'stage-end') return
    await log.retain((await log.topics()).map(({ name }) => topicNamed(name)))
  })
}
