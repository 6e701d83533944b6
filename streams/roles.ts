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
import { controlRecords } from './control-records.ts'
import { admissionBudget } from './coordinator-state.ts'
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
import { type Verifiers, verify } from './verify.ts'

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
    clock: Clock
    scheduler: SchedulerLike
  },
): Promise<void> {
  const { concurrency, attempts, timeoutMs, clock, scheduler } = options
  return stageRole(log, options, (stage, input) =>
    defer(() => openPins(log, stage, options.signal)).pipe(
      switchMap((pins) =>
        source(log, rollouts(stage.domain), { group: 'verify', ...input }).pipe(
          verify(verifiers, { concurrency, attempts, timeoutMs, clock, scheduler, pins }),
        ),
      ),
    ),
  )
}

/** Rewards to one outcome a group. */
export function runGroup(log: TopicLog, options: RoleOptions): Promise<void> {
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

/** Gradient batches to weights. */
export function runUpdate(log: TopicLog, updateSink: UpdateSink, options: RoleOptions): Promise<void> {
  return runRole(log, options, (input) =>
    source(log, gradientBatches, { group: 'update', ...input }).pipe(update(updateSink)),
  )
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
