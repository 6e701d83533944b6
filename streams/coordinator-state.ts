import type {
  BatchClosed,
  Checkpoint,
  Control,
  Evaluation,
  GroupOutcome,
  RlStage,
  StageSpec,
  Update,
} from '../topics/index.ts'
import { lookBack, type StepFact } from './exit-rule.ts'
import { Fence } from './fence.ts'
import { StageSettings, withSettings } from './stage-settings.ts'
import { VerifierVersions } from './verifier-versions.ts'

/** What the coordinator knows, folded from records; nothing of it is kept anywhere else. */

export interface OutcomeFact {
  admission: number
  outcome: GroupOutcome['outcome']
  groupId: string
  offset: number
  hash: string
  /** Sums over the members with a reward. */
  sums: { members: number; reward: number; responseLength: number; truncated: number }
}

/** A group of a step that is not closed. */
export interface OpenGroup {
  step: number
  outcome: OutcomeFact | undefined
}

/** Facts of one stage. */
export interface StageFacts {
  begun: boolean
  /** Version that the stage started from. */
  version: number
  closed: number
  lastVersion: number
  /** The next admission index. */
  admitted: number
  /** Admissions of closed steps. */
  settled: number
  /** By admission index. */
  open: Map<number, OpenGroup>
  /** Steps in a row that closed without an update. */
  barren: number
  /** It was asked to begin no further step. */
  finishing: boolean
  drained: boolean
  /** Why it drains, as the record says. */
  drainReason: string | undefined
  checkpoint: Checkpoint | undefined
  evaluated: Set<string>
  ended: boolean
  startedAt: number
  /** When the latest step was closed. */
  closedAt: number
  /** The latest closed steps, as many as the stage's exit rules look back at. */
  recent: StepFact[]
}

export type CoordinatorEvent =
  | { type: 'control'; record: Control; timestamp: number }
  | { type: 'admitted'; stage: string; step: number; admission: number }
  | { type: 'outcome'; record: GroupOutcome; offset: number; hash: string }
  | { type: 'update'; record: Update }
  | { type: 'checkpoint'; record: Checkpoint }
  | { type: 'evaluation'; record: Evaluation }

/**
 * The fold. Records of one topic arrive in order; those of different topics in any order and the same facts come out.
 */
export class CoordinatorState {
  readonly stages: readonly StageSpec[]
  readonly facts = new Map<string, StageFacts>()
  runBegun = false
  runEnded = false
  paused = false
  /** Latest applied version. */
  version = 0
  initial: Checkpoint | undefined
  readonly commands = new Set<string>()
  readonly verifiers = new VerifierVersions()
  readonly settings = new StageSettings()
  readonly baseline = new Set<string>()
  readonly #fence = new Fence()

  constructor(stages: readonly StageSpec[]) {
    this.stages = stages
    for (const s of stages) this.facts.set(s.name, emptyFacts())
  }

  fold(event: CoordinatorEvent): void {
    switch (event.type) {
      case 'control':
        this.#control(event.record, event.timestamp)
        break
      case 'admitted': {
        const facts = this.#of(event.stage)
        facts.admitted = Math.max(facts.admitted, event.admission + 1)
        if (event.step > facts.closed && !facts.open.has(event.admission))
          facts.open.set(event.admission, { step: event.step, outcome: undefined })
        break
      }
      case 'outcome': {
        const { record } = event
        const facts = this.#of(record.stage)
        if (record.step <= facts.closed) break
        facts.open.set(record.admission, { step: record.step, outcome: factOf(event) })
        break
      }
      case 'update':
        this.version = Math.max(this.version, event.record.version)
        break
      case 'checkpoint':
        this.version = Math.max(this.version, event.record.version)
        if (event.record.reason === 'initial') this.initial = event.record
        if (event.record.reason === 'stage-end') this.#of(event.record.stage).checkpoint = event.record
        break
      case 'evaluation': {
        const { stage, domain } = event.record
        if (stage === startStage) this.baseline.add(domain)
        else this.#of(stage).evaluated.add(domain)
        break
      }
    }
  }

  /** A stage as it is for a step, with what was set until then. */
  specAt<S extends StageSpec>(spec: S, step: number): S {
    return withSettings(spec, this.settings.at(spec.name, step))
  }

  /** The first stage that has not ended, as it is for the next step to close. */
  current(): { spec: StageSpec; facts: StageFacts; index: number } | undefined {
    for (const [index, spec] of this.stages.entries()) {
      const facts = this.#of(spec.name)
      if (!facts.ended) return { spec: this.specAt(spec, facts.closed + 1), facts, index }
    }
    return undefined
  }

  #control(c: Control, timestamp: number): void {
    if (!this.#fence.admits(c)) return
    switch (c.type) {
      case 'run-begin':
        this.runBegun = true
        break
      case 'stage-begin': {
        const facts = this.#of(c.stage)
        facts.begun = true
        facts.version = c.version
        facts.startedAt = timestamp
        facts.lastVersion = Math.max(facts.lastVersion, c.version)
        break
      }
      case 'batch-closed':
        this.#closed(c, timestamp)
        break
      case 'stage-drain':
        this.#of(c.stage).drained = true
        this.#of(c.stage).drainReason = c.reason
        break
      case 'stage-end':
        this.#of(c.stage).ended = true
        break
      case 'command':
        this.commands.add(c.id)
        // `stop` ends one process, not the run: it leaves no trace in the state that a resumed run folds.
        if (c.command === 'pause') this.paused = true
        else if (c.command === 'resume') this.paused = false
        else if (c.command === 'finish-stage' && c.stage !== undefined && c.refused === undefined)
          this.#of(c.stage).finishing = true
        break
      case 'set':
        this.commands.add(c.id)
        this.settings.apply(c)
        break
      case 'verifier':
        this.commands.add(c.id)
        this.verifiers.apply(c)
        break
      case 'run-end':
        this.runEnded = true
        break
    }
  }

  #closed(c: BatchClosed, timestamp: number): void {
    const facts = this.#of(c.stage)
    if (c.step <= facts.closed) return
    facts.closed = c.step
    facts.closedAt = timestamp
    const spec = this.stages.find((s) => s.name === c.stage)
    const kept = spec?.kind === 'rl' ? lookBack(spec) : 0
    if (kept > 0) {
      facts.recent.push({ reward: c.stats?.reward, truncated: c.stats?.truncated })
      if (facts.recent.length > kept) facts.recent.shift()
    }
    facts.settled += c.counts.admitted
    facts.admitted = Math.max(facts.admitted, facts.settled)
    facts.lastVersion = Math.max(facts.lastVersion, c.version)
    facts.barren = c.version === c.baseVersion ? facts.barren + 1 : 0
    for (const [admission, { step }] of facts.open) if (step <= c.step) facts.open.delete(admission)
  }

  #of(stage: string): StageFacts {
    let facts = this.facts.get(stage)
    if (!facts) {
      facts = emptyFacts()
      this.facts.set(stage, facts)
    }
    return facts
  }
}

/** The name under which the untrained model's scores are recorded. */
export const startStage = 'start'

/** The most groups that one step may admit. */
export function admissionBudget(stage: RlStage): number {
  return Math.floor(stage.prompts * stage.refill)
}

/** The most rewards that lie beyond the floor of `group` at once: those of a step. */
export function settledTogether(stage: RlStage): number {
  return admissionBudget(stage) * stage.groupSize
}

/** What closing a step needs of an outcome. */
export function factOf(event: { record: GroupOutcome; offset: number; hash: string }): OutcomeFact {
  const { record, offset, hash } = event
  const sums = { members: 0, reward: 0, responseLength: 0, truncated: 0 }
  for (const m of record.members) {
    if (m.reward === undefined) continue
    sums.members += 1
    sums.reward += m.reward
    sums.responseLength += m.responseLength
    sums.truncated += m.truncated ? 1 : 0
  }
  return {
    admission: record.admission,
    outcome: record.outcome,
    groupId: record.groupId,
    offset,
    hash,
    sums,
  }
}

function emptyFacts(): StageFacts {
  return {
    begun: false,
    version: 0,
    closed: 0,
    lastVersion: 0,
    admitted: 0,
    settled: 0,
    open: new Map(),
    barren: 0,
    finishing: false,
    drained: false,
    drainReason: undefined,
    checkpoint: undefined,
    evaluated: new Set(),
    ended: false,
    startedAt: 0,
    closedAt: 0,
    recent: [],
  }
}
