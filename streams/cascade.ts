import type { SchedulerLike } from 'rxjs'
import { CascadeError } from '../topics/index.ts'
import type { BackoffOptions } from './backoff.ts'
import { type CoordinateOptions, coordinate } from './coordinate.ts'
import type { Plan } from './micro-batches.ts'
import type { FetchLimit, Policy, TopicLog, UpdateSink } from './ports.ts'
import { type RoleName, roleNames, runGenerate, runGroup, runPack, runUpdate, runVerify } from './roles.ts'
import type { Verifiers, VerifyOptions } from './verify.ts'

export interface CascadeOptions extends CoordinateOptions {
  policy: Policy
  verifiers: Verifiers
  sink: UpdateSink
  credit: FetchLimit
  plan: Plan
  decodeRows: number
  verify: {
    concurrency: number
    attempts: number
    timeoutMs: number
    maxOutageMs: number
    backoff?: BackoffOptions
  }
  onOutage?: VerifyOptions['onOutage']
  scheduler: SchedulerLike
  /** The parts that run here; others may run them. @default all */
  roles?: readonly RoleName[]
}

/**
 * A whole run in one process: every role and the coordinator over one log, from wherever the log stands.
 * Resolves `done` at the end of the run, `stopped` after a `stop` command; in both cases, and before it throws, every
 * role has ended and no commit is under way.
 *
 * @throws what the first part that failed threw, or the signal's reason
 */
export async function cascade(log: TopicLog, options: CascadeOptions): Promise<'done' | 'stopped'> {
  const { policy, verifiers, sink, seed, plan, clock, scheduler, decodeRows } = options
  const stop = new AbortController()
  const signal = AbortSignal.any([options.signal, stop.signal])
  const role = { stages: options.stages, credit: options.credit, signal }
  const outage = options.onOutage ? { onOutage: options.onOutage } : {}
  const failures: unknown[] = []
  const guard = async <T>(running: Promise<T>): Promise<T | undefined> => {
    try {
      return await running
    } catch (error) {
      // What others throw after the first failure is the abort that it caused, unless they have one of their own.
      if (failures.length === 0 || error !== signal.reason) failures.push(error)
      stop.abort(error)
      return undefined
    }
  }
  const stopped = new CascadeError('INTERRUPTED', 'the run was stopped on command')
  const coordinating = guard(coordinate(log, { ...options, signal })).then((end) => {
    if (end === 'stopped') stop.abort(stopped)
    return end
  })
  const starters: Record<RoleName, () => Promise<void>> = {
    generate: () => runGenerate(log, policy, { ...role, decodeRows, clock }),
    verify: () => runVerify(log, verifiers, { ...role, ...options.verify, ...outage, clock, scheduler }),
    group: () => runGroup(log, role),
    pack: () => runPack(log, { ...role, seed, plan }),
    update: () => runUpdate(log, sink, role),
  }
  const { roles = roleNames } = options
  await Promise.all([...roles.map((name) => guard((async () => starters[name]())())), coordinating])
  const end = await coordinating
  const failed = failures.find((f) => f !== stopped)
  if (failed !== undefined) throw failed
  return end ?? 'stopped'
}
