import type { Checkpoint, RlStage, SftStage, StageSpec } from '../topics/index.ts'
import { type ClosedStep, closeStep } from './close-step.ts'
import {
  admissionBudget,
  type CoordinatorState,
  type OutcomeFact,
  type StageFacts,
  startStage,
} from './coordinator-state.ts'
import { exitReason } from './exit-rule.ts'

/** What the coordinator does next. */
export type Decision =
  | { type: 'run-begin' }
  | { type: 'evaluate'; stage: string; domain: string; checkpoint: Checkpoint }
  | { type: 'stage-begin'; stage: string; index: number; version: number }
  | { type: 'admit'; stage: RlStage; step: number; first: number; count: number; version: number }
  | {
      type: 'demonstrate'
      stage: SftStage
      step: number
      first: number
      count: number
      baseVersion: number
      opens: boolean
      settings: Record<string, number> | undefined
    }
  | ({
      type: 'close'
      stage: RlStage
      step: number
      settings: Record<string, number> | undefined
    } & ClosedStep)
  | { type: 'stage-drain'; stage: string; steps: number; version: number; reason: string }
  | {
      type: 'stage-end'
      stage: string
      steps: number
      version: number
      checkpoint: string
      reason: string
      startedAt: number
    }
  | { type: 'run-end'; version: number }

/** SFT batches that may wait before the update; they depend on no version. */
const sftLead = 4

/**
 * The next decision, or undefined where only a record of somebody else can move the run on. Pure: the same
 * facts give the same decision, which is what makes a restart invisible.
 */
export function decide(state: CoordinatorState, domains: readonly string[]): Decision | undefined {
  if (state.runEnded) return undefined
  if (!state.runBegun) return { type: 'run-begin' }
  if (!state.initial) return undefined
  const unscored = domains.find((d) => !state.baseline.has(d))
  if (unscored !== undefined) {
    // The untrained weights are gone once a stage has begun; an older start simply has no baseline then.
    const begun = state.facts.get(state.stages[0]?.name ?? '')?.begun
    if (!begun) return { type: 'evaluate', stage: startStage, domain: unscored, checkpoint: state.initial }
  }
  const current = state.current()
  if (!current) return { type: 'run-end', version: state.version }
  const { spec, facts, index } = current
  if (!facts.begun) {
    return state.paused ? undefined : { type: 'stage-begin', stage: spec.name, index, version: state.version }
  }
  if (facts.drained) return finish(facts, spec, domains)
  // A step that was admitted is finished: whether a rule of time held when it was is not for a restart to decide anew.
  const reason = facts.open.size === 0 ? endOf(facts, spec) : undefined
  if (reason !== undefined) {
    return state.version >= facts.lastVersion
      ? { type: 'stage-drain', stage: spec.name, steps: facts.closed, version: facts.lastVersion, reason }
      : undefined
  }
  return spec.kind === 'sft' ? supervise(state, facts, spec) : explore(state, facts, spec)
}

function supervise(state: CoordinatorState, facts: StageFacts, spec: SftStage): Decision | undefined {
  if (state.paused || facts.lastVersion - state.version >= sftLead) return undefined
  return {
    type: 'demonstrate',
    stage: spec,
    step: facts.closed + 1,
    first: facts.admitted,
    count: spec.batch,
    baseVersion: facts.lastVersion,
    opens: facts.lastVersion === facts.version,
    settings: state.settings.at(spec.name, facts.closed + 1),
  }
}

function explore(state: CoordinatorState, facts: StageFacts, spec: RlStage): Decision | undefined {
  const step = facts.closed + 1
  // Strictly on-policy: nothing of step s+1 is admitted before the update of step s is in the log.
  if (state.version < facts.lastVersion) return undefined
  const version = facts.lastVersion
  if (facts.open.size === 0) {
    if (state.paused) return undefined
    return { type: 'admit', stage: spec, step, first: facts.admitted, count: spec.prompts, version }
  }
  const known: OutcomeFact[] = []
  for (const { outcome } of facts.open.values()) if (outcome) known.push(outcome)
  const kept = known.filter((o) => o.outcome === 'kept')
  const pending = facts.open.size - known.length
  // Kept and pending groups never exceed the batch, so what is admitted in the end does not depend on who finishes first.
  const missing = spec.prompts - kept.length - pending
  const left = admissionBudget(spec) - facts.open.size
  if (missing > 0 && left > 0) {
    return {
      type: 'admit',
      stage: spec,
      step,
      first: facts.admitted,
      count: Math.min(missing, left),
      version,
    }
  }
  if (pending > 0) return undefined
  return {
    type: 'close',
    stage: spec,
    step,
    settings: state.settings.at(spec.name, step),
    ...closeStep(known, spec, { version, opens: version === facts.version }),
  }
}

function finish(facts: StageFacts, spec: StageSpec, domains: readonly string[]): Decision | undefined {
  const { checkpoint } = facts
  const stage = spec.name
  if (!checkpoint) return undefined
  const unscored = domains.find((d) => !facts.evaluated.has(d))
  if (unscored !== undefined) return { type: 'evaluate', stage, domain: unscored, checkpoint }
  return {
    type: 'stage-end',
    stage,
    steps: facts.closed,
    version: checkpoint.version,
    checkpoint: checkpoint.id,
    reason: facts.drainReason ?? endOf(facts, spec) ?? 'steps',
    startedAt: facts.startedAt,
  }
}

/** Why no further step of a stage begins. */
function endOf(facts: StageFacts, spec: StageSpec): string | undefined {
  if (facts.closed >= spec.steps) return 'steps'
  if (facts.finishing) return 'finish-stage'
  if (spec.kind !== 'rl') return undefined
  if (facts.barren >= spec.patience) return 'no signal'
  const seconds = (facts.closedAt - facts.startedAt) / 1000
  return exitReason(spec, { closed: facts.closed, recent: facts.recent, seconds })
}
