import type { Checkpoint, RlStage, SftStage } from '../topics/index.ts'
import {
  admissionBudget,
  type CoordinatorState,
  type OutcomeFact,
  type StageFacts,
  startStage,
} from './coordinator-state.ts'

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
    }
  | {
      type: 'close'
      stage: RlStage
      step: number
      baseVersion: number
      version: number
      opens: boolean
      groups: OutcomeFact[]
      counts: { admitted: number; kept: number; filtered: number; lost: number }
      reason?: string
    }
  | { type: 'stage-drain'; stage: string; version: number }
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
  if (facts.drained) return finish(facts, spec.name, domains)
  const stuck = spec.kind === 'rl' && facts.barren >= spec.patience
  if (facts.closed >= spec.steps || stuck) {
    return state.version >= facts.lastVersion
      ? { type: 'stage-drain', stage: spec.name, version: facts.lastVersion }
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
  const outcomes = [...facts.open.values()]
  if (outcomes.includes(undefined)) return undefined
  const known = (outcomes as OutcomeFact[]).sort((a, b) => a.admission - b.admission)
  const kept = known.filter((o) => o.outcome === 'kept')
  const missing = spec.prompts - kept.length
  const left = admissionBudget(spec) - known.length
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
  const enough = kept.length >= spec.minGroups
  return {
    type: 'close',
    stage: spec,
    step,
    baseVersion: version,
    version: enough ? version + 1 : version,
    opens: enough && version === facts.version,
    groups: enough ? kept.slice(0, spec.prompts) : [],
    counts: {
      admitted: known.length,
      kept: kept.length,
      filtered: known.filter((o) => o.outcome === 'filtered').length,
      lost: known.filter((o) => o.outcome === 'lost').length,
    },
    ...(enough ? {} : { reason: `${kept.length} kept groups of at least ${spec.minGroups}` }),
  }
}

function finish(facts: StageFacts, stage: string, domains: readonly string[]): Decision | undefined {
  const { checkpoint } = facts
  if (!checkpoint) return undefined
  const unscored = domains.find((d) => !facts.evaluated.has(d))
  if (unscored !== undefined) return { type: 'evaluate', stage, domain: unscored, checkpoint }
  return {
    type: 'stage-end',
    stage,
    steps: facts.closed,
    version: checkpoint.version,
    checkpoint: checkpoint.id,
    reason: facts.barren > 0 ? 'no signal' : 'steps',
    startedAt: facts.startedAt,
  }
}
