import { follow } from '../../../streams/follow.ts'
import type { Envelope, TopicLog } from '../../../streams/ports.ts'
import { advantages, control, evaluations, type Topic, updates } from '../../../topics/index.ts'
import type { Manifest } from '../run-folder.ts'
import { ReportFold } from './fold.ts'
import type { Report } from './types.ts'

export interface ComputeOptions {
  /** A process is writing the run now; what has begun and has neither ended nor a writer is interrupted. */
  readonly running: boolean
  readonly signal?: AbortSignal
}

/** The report of a run from its log; the manifest only names what no record says. */
export async function computeReport(
  log: TopicLog,
  manifest: Manifest,
  options: ComputeOptions,
): Promise<Report> {
  const fold = new ReportFold()
  const signal = options.signal ?? new AbortController().signal
  const read = async <T>(topic: Topic<T>, handle: (record: Envelope<T>) => void) => {
    const from = await log.offset(topic.name, 'earliest')
    await follow(log, topic, { from, until: 'end', signal }, handle)
  }
  await read(control, (r) => fold.control(r))
  await read(evaluations, (r) => fold.evaluation(r))
  await read(updates, (r) => fold.update(r))
  const domains = new Set(fold.stages.filter((s) => s.kind === 'rl').map((s) => s.domain))
  for (const domain of domains) await read(advantages(domain), (r) => fold.outcome(r))
  const { runId: run, version, seed, rescored, imported } = manifest
  // In this order: a run that judges imported rollouts again says where they come from, too.
  const origin = rescored ? 'rescored' : imported ? 'imported' : undefined
  return fold.result({ run, version, seed, running: options.running, origin })
}
