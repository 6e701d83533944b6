import { defer, EMPTY, type Observable, type SchedulerLike, switchMap } from 'rxjs'
import {
  CascadeError,
  control,
  gradientBatches,
  prompts,
  type Reward,
  type RlStage,
  rewards,
  rollouts,
  type StageSpec,
} from '../topics/index.ts'
import type { BackoffOptions } from './backoff.ts'
import { breakerDefaults } from './breaker.ts'
import { controlRecords } from './control-records.ts'
import { admissionBudget, settledTogether } from './coordinator-state.ts'
import { createCredit } from './credit.ts'
import type { Delivery } from './delivery.ts'
import { follow } from './follow.ts'
import { generate } from './generate.ts'
import { group } from './group.ts'
import type { Plan } from './micro-batches.ts'
import { pack } from './pack.ts'
import { perStage } from './per-stage.ts'
import type { Append, Clock, FetchLimit, Policy, TopicLog, UpdateSink } from './ports.ts'
import { runFlow } from './run-flow.ts'
import { type Sink, sink } from './sink.ts'
import { source } from './source.ts'
import { update } from './update.ts'
import { pinsOf } from './verifier-pins.ts'
import { type Verifiers, type VerifyOptions, verify } from './verify.ts'

/** The parts of a pipeline that read one topic and write the next. Each may run alone, or in a process of its own. */
export const roleNames = ['generate', 'verify', 'group', 'pack', 'update'] as const
export type RoleName = (typeof roleNames)[number]

export interface RoleOptions {
  stages: readonly StageSpec[]
  /** What each role may hold at most. */
  credit: FetchLimit
  /** Aborting drops what is in flight: it comes again. */
  signal: AbortSignal
  /** Ends once the input that is there has been worked off, instead of at the end of the run. */
  once?: boolean
}

type Flow = Observable<Delivery<readonly Append[]>>

/** Prompts to rollouts, stage by stage, until the run ends. */
export function runGenerate(
  log: TopicLog,
  policy: Policy,
  options: RoleOptions & { decodeRows: number; clock: Clock },
): Promise<void> {
  const rolloutCredit = createCredit(options.credit)
  return stageRole(log, options, (stage, input) => {
    // Twice what decodes together: the next groups are at hand when rows become free.
    const concurrency = Math.max(1, Math.ceil((2 * options.decodeRows) / stage.groupSize))
    return source(log, prompts(stage.domain), { group: 'generate', ...input }).pipe(
      generate(policy, { concurrency, credit: rolloutCredit, clock: options.clock }),
    )
  })
}

/** Rollouts to rewards. */
export function runVerify(
  log: TopicLog,
  verifiers: Verifiers,
  options: RoleOptions & {
    concurrency: number
    attempts: number
    timeoutMs: number
    maxOutageMs: number
    onOutage?: VerifyOptions['onOutage']
    backoff?: BackoffOptions
    clock: Clock
    scheduler: SchedulerLike
  },
): Promise<void> {
  const { concurrency, attempts, timeoutMs, maxOutageMs, onOutage, backoff, clock, scheduler } = options
  const outage = { ...breakerDefaults, maxOutageMs }
  const common = {
    concurrency,
    attempts,
    timeoutMs,
    outage,
    clock,
    scheduler,
    ...(onOutage ? { onOutage } : {}),
    ...(backoff ? { backoff } : {}),
  }
  return stageRole(log, options, (stage, input) =>
    defer(() => openPins(log, stage, options.signal)).pipe(
      switchMap((pins) =>
        source(log, rollouts(stage.domain), { group: 'verify', ...input }).pipe(
          verify(verifiers, { ...common, pins }),
        ),
      ),
    ),
  )
}

/** Rewards to one outcome a group. @throws `CONFIG_INVALID`, as {@link checkWindow}. */
export async function runGroup(log: TopicLog, options: RoleOptions): Promise<void> {
  for (const stage of options.stages) if (stage.kind === 'rl') checkWindow(stage, log.window)
  return stageRole(log, options, (stage, input) =>
    source(log, rewards(stage.domain), { group: 'group', ...input }).pipe(
      group({ maxOpen: admissionBudget(stage), advantages: (name) => rlStage(options.stages, name) }),
    ),
  )
}

/** Closed batches to gradient batches. */
export function runPack(log: TopicLog, options: RoleOptions & { seed: number; plan: Plan }): Promise<void> {
  const { stages, seed, plan } = options
  return runRole(log, options, (input) =>
    source(log, control, { group: 'pack', ...input }).pipe(pack(log, { stages, seed, plan })),
  )
}

/** Gradient batches to weights. Settles only once the sink is at rest. */
export async function runUpdate(log: TopicLog, updateSink: UpdateSink, options: RoleOptions): Promise<void> {
  let running: Promise<unknown> = Promise.resolve()
  const tracked: UpdateSink = {
    get version() {
      return updateSink.version
    },
    apply: (...args) => track(updateSink.apply(...args)),
    checkpoint: (...args) => track(updateSink.checkpoint(...args)),
  }
  const track = <T>(work: Promise<T>): Promise<T> => {
    running = work
    return work
  }
  try {
    await runRole(log, options, (input) =>
      source(log, gradientBatches, { group: 'update', ...input }).pipe(update(tracked)),
    )
  } finally {
    // An abort does not interrupt the sink, and whoever goes on after this must not meet it at work. Its error is the flow's.
    await Promise.allSettled([running])
  }
}

interface Input {
  credit: ReturnType<typeof createCredit>
  signal: AbortSignal
  until?: 'end'
}

function stageRole(
  log: TopicLog,
  options: RoleOptions,
  open: (stage: RlStage, input: Input) => Flow,
): Promise<void> {
  const to = sink(log)
  const credit = createCredit(options.credit)
  const opened = (name: string, drain: AbortSignal) => {
    const stage = options.stages.find((s) => s.name === name)
    return stage?.kind === 'rl' ? open(stage, inputOf(options, credit, drain)).pipe(to) : EMPTY
  }
  const flow = controlRecords(log, options.once).pipe(perStage(opened))
  return runFlow(flow, to, options.signal)
}

/** A role that serves all stages alike: it drains when the run has ended. */
async function runRole(log: TopicLog, options: RoleOptions, open: (input: Input) => Flow): Promise<void> {
  const to: Sink = sink(log)
  const ended = new AbortController()
  let failure: { error: unknown } | undefined
  const watching = controlRecords(log).subscribe({
    complete: () => ended.abort(),
    error: (error: unknown) => {
      failure = { error }
      ended.abort()
    },
  })
  try {
    const flow = open(inputOf(options, createCredit(options.credit), ended.signal))
    await runFlow(flow.pipe(to), to, options.signal)
  } finally {
    watching.unsubscribe()
  }
  if (failure) throw failure.error
}

function inputOf(options: RoleOptions, credit: Input['credit'], signal: AbortSignal): Input {
  return { credit, signal, ...(options.once ? { until: 'end' } : {}) }
}

/**
 * A reward is settled with its whole group: until the oldest group of a step is whole, all later rewards of the step lie beyond the
 * floor, and those outside of the window would never be read.
 *
 * @throws `CONFIG_INVALID` where a step has more rewards than the log's window
 */
function checkWindow(stage: RlStage, window: number): void {
  const needed = settledTogether(stage)
  if (needed <= window) return
  throw new CascadeError(
    'CONFIG_INVALID',
    `stage ${stage.name}: prompts x refill x groupSize: expected at most the log's window (${window}), got ${needed}`,
  )
}

/** The verifier versions of groups that are half scored: all their rewards lie behind the floor of `group`. */
async function openPins(log: TopicLog, stage: RlStage, signal: AbortSignal) {
  const topic = rewards(stage.domain)
  const { floor } = await log.position('group', topic.name)
  const open: Reward[] = []
  await follow(log, topic, { from: floor, until: 'end', signal }, (r) => void open.push(r.value))
  return pinsOf(open)
}

function rlStage(stages: readonly StageSpec[], name: string): RlStage {
  const stage = stages.find((s) => s.name === name)
  if (stage?.kind === 'rl') return stage
  throw new CascadeError('STREAM_PROTOCOL', `expected the name of an RL stage, got ${name}`)
}
