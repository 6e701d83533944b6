import { type CoordinatorEvent, CoordinatorState, type StageFacts } from '../../streams/coordinator-state.ts'
import { type Decision, decide } from '../../streams/decide.ts'
import { hashOutcome } from '../../streams/group-id.ts'
import type { Evaluation, GroupOutcome, RlStage, StageSpec, Update } from '../../topics/index.ts'
import { checkpointOf, controlWriter, outcomeOf } from './stages.ts'

export type Outcome = GroupOutcome['outcome']
export type Fate = (stage: RlStage, admission: number) => Outcome

const rewardsOf: Record<Outcome, readonly (number | undefined)[]> = {
  kept: [1, 0],
  filtered: [1, 1],
  lost: [undefined, 1],
}

type Body = Parameters<ReturnType<typeof controlWriter>>[0]

interface Pending {
  stage: RlStage
  step: number
  admission: number
  version: number
}

/** A run without a log: the coordinator's fold and decisions, and a world that answers in an order that `draw` picks. */
export class Simulation {
  readonly state: CoordinatorState
  readonly domains: readonly string[]
  /** What happened, by topic, as a log would have it. */
  readonly topics = new Map<string, CoordinatorEvent[]>()
  readonly decisions: Decision[] = []
  readonly #stages: readonly StageSpec[]
  readonly #fate: Fate
  readonly #write = controlWriter()
  #pending: Pending[] = []
  #batches: { stage: string; step: number; version: number; flush: boolean }[] = []
  #clock = 0

  constructor(stages: readonly StageSpec[], domains: readonly string[], fate: Fate) {
    this.#stages = stages
    this.domains = domains
    this.#fate = fate
    this.state = new CoordinatorState(stages)
    this.#happen('checkpoints', { type: 'checkpoint', record: checkpointOf() })
  }

  get inFlight(): number {
    return this.#pending.length
  }

  /** One thing that can happen next; false when nothing can. */
  tick(draw: (n: number) => number): boolean {
    const decision = decide(this.state, this.domains)
    const options = [
      ...(decision ? [() => this.execute(decision)] : []),
      ...this.#pending.map((_, i) => () => this.#settle(i)),
      ...(this.#batches.length > 0 ? [() => this.#apply()] : []),
    ]
    if (options.length === 0) return false
    options[draw(options.length)]!()
    return true
  }

  facts(stage: string): StageFacts {
    return this.state.facts.get(stage)!
  }

  /** What a coordinator that starts now would know: the topics read in any order, each from its beginning. */
  rebuilt(draw: (n: number) => number): CoordinatorState {
    const state = new CoordinatorState(this.#stages)
    const left = [...this.topics.values()].map((events) => [...events])
    while (left.some((events) => events.length > 0)) {
      const open = left.filter((events) => events.length > 0)
      state.fold(open[draw(open.length)]!.shift()!)
    }
    return state
  }

  execute(d: Decision): void {
    this.decisions.push(d)
    const say = (body: Body) => this.saying(body)
    switch (d.type) {
      case 'run-begin':
        say({ type: 'run-begin', runId: 'r', seed: 0, deterministic: false, configHash: '', stages: [] })
        break
      case 'evaluate':
        this.#happen('evaluations', {
          type: 'evaluation',
          record: { stage: d.stage, domain: d.domain } as Evaluation,
        })
        break
      case 'stage-begin':
      case 'run-end':
        say(d)
        break
      case 'admit':
        for (let admission = d.first; admission < d.first + d.count; admission++) {
          this.#happen('prompts', { type: 'admitted', stage: d.stage.name, step: d.step, admission })
          this.#pending.push({ stage: d.stage, step: d.step, admission, version: d.version })
        }
        break
      case 'demonstrate': {
        const counts = { admitted: d.count, kept: d.count, filtered: 0, lost: 0 }
        const { step, baseVersion, opens } = d
        const version = baseVersion + 1
        const demonstrations = { from: d.first, to: d.first + d.count }
        const stage = d.stage.name
        say({
          type: 'batch-closed',
          stage,
          step,
          baseVersion,
          version,
          opens,
          groups: [],
          counts,
          demonstrations,
        })
        this.#batches.push({ stage, step, version, flush: false })
        break
      }
      case 'close': {
        const { stage, groups, type: _, ...rest } = d
        const listed = groups.map((g) => ({
          groupId: g.groupId,
          admission: g.admission,
          outcomeOffset: g.offset,
          hash: g.hash,
        }))
        say({ type: 'batch-closed', ...rest, stage: stage.name, groups: listed })
        if (d.version > d.baseVersion)
          this.#batches.push({ stage: stage.name, step: d.step, version: d.version, flush: false })
        break
      }
      case 'stage-drain':
        say(d)
        this.#batches.push({ stage: d.stage, step: d.steps, version: d.version, flush: true })
        break
      case 'stage-end': {
        const { startedAt: _, ...rest } = d
        say({ ...rest, seconds: 0 })
        break
      }
    }
  }

  saying(body: Body): void {
    this.#clock += 1
    this.#happen('control', { type: 'control', record: this.#write(body), timestamp: this.#clock })
  }

  #settle(i: number): void {
    const [{ stage, step, admission, version }] = this.#pending.splice(i, 1) as [Pending]
    const rewards = rewardsOf[this.#fate(stage, admission)]
    const record = outcomeOf(stage, { step, admission, policyVersion: version }, rewards)
    const topic = `advantages.${stage.domain}`
    const offset = this.topics.get(topic)?.length ?? 0
    this.#happen(topic, { type: 'outcome', record, offset, hash: hashOutcome(record) })
  }

  #apply(): void {
    const { stage, step, version, flush } = this.#batches.shift()!
    if (flush) {
      const record = checkpointOf({ id: `c${version}`, stage, step, version, reason: 'stage-end' })
      this.#happen('checkpoints', { type: 'checkpoint', record })
    } else this.#happen('updates', { type: 'update', record: { stage, step, version } as Update })
  }

  #happen(topic: string, event: CoordinatorEvent): void {
    const events = this.topics.get(topic) ?? []
    events.push(event)
    this.topics.set(topic, events)
    this.state.fold(event)
  }
}
