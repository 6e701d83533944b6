import { cascade } from '../../../streams/cascade.ts'
import { follow } from '../../../streams/follow.ts'
import { probedLog } from '../../../streams/probed-log.ts'
import { runShadow } from '../../../streams/shadow.ts'
import { control, rlDomains } from '../../../topics/index.ts'
import { topicNamed } from '../../../topics/registry.ts'
import { type EmbeddedLog, openLog } from '../../log/index.ts'
import type { Engine } from '../../model/engine/index.ts'
import type { Context } from '../command.ts'
import { CommandQueue, merged, receivedCommands } from '../control-inbox.ts'
import { logFolder } from '../open-run.ts'
import type { Progress } from '../output/progress.ts'
import { reasonOf } from '../output/reason.ts'
import { computeReport, type Report, writeReportFiles } from '../report/index.ts'
import type { Manifest } from '../run-folder.ts'
import { assemble, clock, windowOf } from './assemble.ts'
import { crashPoint } from './crash-point.ts'
import { openRunVerifiers } from './open-verifiers.ts'
import { watch } from './watch.ts'

export interface RunCascadeOptions {
  dir: string
  manifest: Manifest
  engine: Engine
  progress: Progress
  context: Pick<Context, 'signal' | 'env'>
}

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
  const log = await openLog({ dir: logFolder(dir), mode: 'append', clock, window: windowOf(manifest.config) })
  try {
    let end: 'done' | 'stopped'
    try {
      end = await train(log, options)
    } catch (error) {
      await report(log, dir, manifest).catch((cause: unknown) =>
        options.progress.note(`the report could not be written: ${reasonOf(cause)}`),
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
  const over = new AbortController()
  const signal = AbortSignal.any([context.signal, over.signal])
  const domains = rlDomains(manifest.config.stages)
  const show = await watch(log, domains, progress, signal)
  const failed = (error: unknown) => {
    if (!signal.aborted) over.abort(error)
  }
  const watching = Promise.all([show(), retaining(log, signal)]).catch(failed)
  try {
    const probe = crashPoint(context.env)
    const probed = probedLog(log, probe)
    const onReapply = (n: number) => {
      if (n > 0) progress.note(`applying ${n} gradient batches again, since the last checkpoint`)
    }
    await using verifiers = await openRunVerifiers(probed, dir, manifest, {
      env: context.env,
      signal,
    })
    const asked = new CommandQueue()
    const shadowing = Promise.all([
      verifiers.follow(signal),
      runShadow(probed, {
        domains,
        candidates: verifiers,
        clock,
        ask: (id, change) => asked.push({ id, command: 'verifier', asked: change, own: true }),
        signal,
      }),
    ]).catch(failed)
    const inbox = (until: AbortSignal) => merged(receivedCommands(log, until), asked.read(until))
    const parts = await assemble({
      log: probed,
      epoch: log.epoch,
      dir,
      manifest,
      engine,
      verifiers,
      probe,
      signal,
      onReapply,
      note: (text) => progress.note(text),
    })
    try {
      const onOutage = (verifier: string, begins: boolean) =>
        progress.note(
          begins
            ? `verifier ${verifier}: most verdicts are errors; its rollouts wait until it is back`
            : `verifier ${verifier} is back`,
        )
      return await cascade(probed, { ...parts, inbox, onOutage })
    } finally {
      over.abort()
      await shadowing
    }
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
