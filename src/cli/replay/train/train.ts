import { batchClosedOf, closeStep } from '../../../../streams/close-step.ts'
import { factOf, startStage } from '../../../../streams/coordinator-state.ts'
import { ErrorBudget } from '../../../../streams/error-budget.ts'
import { Fence } from '../../../../streams/fence.ts'
import { follow, recordAt } from '../../../../streams/follow.ts'
import { hashOutcome } from '../../../../streams/group-id.ts'
import { gradientBatchOf } from '../../../../streams/pack.ts'
import type { Append, Evaluator, TopicLog, UpdateSink } from '../../../../streams/ports.ts'
import { withSettings } from '../../../../streams/stage-settings.ts'
import { applyBatch } from '../../../../streams/update.ts'
import {
  advantages,
  type BatchClosed,
  CascadeError,
  type Checkpoint,
  type Control,
  checkpoints,
  control,
  type Evaluation,
  evaluations,
  type GroupOutcome,
  gradientBatches,
  type RlStage,
  type Update,
} from '../../../../topics/index.ts'
import { planOf } from '../../run/assemble.ts'
import type { Manifest } from '../../run-folder.ts'
import { groupsOf, replayReads } from '../rebuild.ts'
import { stepOrder } from '../step-order.ts'
import { StepRewards } from '../step-rewards.ts'
import { Lineage, type PlannedStep } from './lineage.ts'
import type { Training } from './training.ts'

/** The reader of gradient batches whose position says what is applied: the same as in every run. */
const updating = 'update'

/** A step as it was trained on. */
export interface TrainedStep {
  readonly was: Training['steps'][number]
  readonly closed: BatchClosed
  /** None where it closed without. */
  readonly update?: Update
  readonly checkpoint?: Checkpoint
}

export interface TrainOptions {
  log: TopicLog
  /** Of this opening of the log. */
  epoch: number
  manifest: Manifest
  training: Training
  sink: UpdateSink
  /** None where the run's tasks are not known here. */
  evaluator: { of: Evaluator; domains: readonly string[] } | undefined
  clock: { now(): number }
  signal: AbortSignal
  onStep(step: TrainedStep): void | Promise<void>
  onEvaluation(evaluation: Evaluation): void | Promise<void>
}

/**
 * Applies, step by step, the updates that the rewards in the log come to, from wherever the log stands to the end of the run. A step is
 * two commits, as in a run: its outcomes, its closing and its gradient batch; then its update. Composition and order are those of a step
 * that sampled its rollouts itself, except that nothing can be admitted in the place of a group that is not kept.
 *
 * @throws `VERIFIER_ERROR_BUDGET` where too many members of a step are errors; `NUMERIC`; `STREAM_PROTOCOL`; the signal's reason
 */
export async function train(options: TrainOptions): Promise<void> {
  await new Trainer(options).run()
}

class Trainer {
  readonly #o: TrainOptions
  readonly #stage: RlStage
  readonly #lineage: Lineage
  readonly #budget = new ErrorBudget()
  readonly #closed = new Map<number, BatchClosed>()
  readonly #scored = new Set<string>()
  #checkpoints: readonly Checkpoint[] = []
  #drained = false
  #ended = false
  #startedAt: number
  #seq = 0

  constructor(options: TrainOptions) {
    const { manifest, training, clock } = options
    this.#o = options
    this.#stage = manifest.config.stages.find((s) => s.name === training.stage) as RlStage
    this.#lineage = new Lineage(training.version, training.exact)
    this.#startedAt = clock.now()
  }

  async run(): Promise<void> {
    const { log, manifest, training, signal, onStep } = this.#o
    await this.#fold()
    if (this.#ended) return
    const start = this.#checkpoints.find((c) => c.reason === 'initial')!
    if (this.#closed.size === 0) await this.#evaluate(startStage, start)
    const rewards = new StepRewards(log, this.#stage.domain, stepOrder(manifest.config.stages))
    for (const was of training.steps) {
      signal.throwIfAborted()
      const before = this.#closed.get(was.step)
      if (before) {
        this.#lineage.closed(was, before)
        const updated = await this.#update()
        if (updated.update) await onStep({ was, closed: before, ...updated })
      } else {
        const outcomes = this.#outcomes(was, await rewards.of({ stage: this.#stage.name, step: was.step }))
        await onStep(await this.#step(was, outcomes))
      }
    }
    await this.#finish()
  }

  /** What is in the log already. */
  async #fold(): Promise<void> {
    const { log, signal } = this.#o
    const whole = { from: 0, until: 'end', signal } as const
    const fence = new Fence()
    await follow(log, control, whole, ({ value: c, timestamp }) => {
      if (!fence.admits(c)) return
      this.#seq = Math.max(this.#seq, c.seq + 1)
      if (c.type === 'stage-begin') this.#startedAt = timestamp
      else if (c.type === 'batch-closed') this.#closed.set(c.step, c)
      else if (c.type === 'stage-drain') this.#drained = true
      else if (c.type === 'run-end') this.#ended = true
    })
    await follow(log, evaluations, whole, ({ value }) => void this.#scored.add(value.id))
    const saved: Checkpoint[] = []
    await follow(log, checkpoints, whole, ({ value }) => void saved.push(value))
    this.#checkpoints = saved
  }

  /** In order of admission. */
  #outcomes(was: PlannedStep, terminal: Parameters<typeof groupsOf>[0]): GroupOutcome[] {
    const outcomes: GroupOutcome[] = []
    for (const [id, members] of groupsOf(terminal)) {
      if (!members.whole) {
        throw new CascadeError(
          'STREAM_PROTOCOL',
          `rewards.${this.#stage.domain}: expected a terminal record of every member of group ${id} of step ${was.step}, got fewer`,
        )
      }
      outcomes.push(members.outcome(this.#stage))
    }
    outcomes.sort((a, b) => a.admission - b.admission)
    for (const outcome of outcomes) {
      const error = this.#budget.exceeded(outcome, this.#stage)
      if (error) throw error
    }
    return outcomes
  }

  async #step(was: Training['steps'][number], outcomes: readonly GroupOutcome[]): Promise<TrainedStep> {
    const { log, manifest, training, sink } = this.#o
    const { config, seed } = manifest
    const stage = this.#stage
    const first = await log.offset(advantages(stage.domain).name, 'latest')
    const known = outcomes.map((record, i) =>
      factOf({ record, offset: first + i, hash: hashOutcome(record) }),
    )
    const opened = training.goesOn || [...this.#closed.values()].some((c) => c.version > c.baseVersion)
    // As it was for the step: what was set in the run is part of what it trains.
    const set = withSettings(stage, was.settings)
    const closing = closeStep(known, set, { version: sink.version, opens: !opened })
    const staleness = this.#lineage.staleness(was.baseVersion)
    const off = staleness > 0 && closing.version > closing.baseVersion
    const closed = {
      ...batchClosedOf({ ...closing, stage, step: was.step, settings: was.settings }),
      ...(off ? { offPolicy: { staleness, ...training.clip } } : {}),
      ...this.#next(),
    } as BatchClosed
    const byOffset = new Map(outcomes.map((o, i) => [first + i, o]))
    const append: Append[] = [
      ...outcomes.map((value) => ({ topic: advantages(stage.domain), value })),
      { topic: control, value: closed },
    ]
    const plan = planOf(config)
    const batch = await gradientBatchOf(
      replayReads(log, byOffset),
      { stages: config.stages, seed, plan },
      closed,
    )
    if (batch) append.push({ topic: gradientBatches, value: batch })
    await log.commit({ append, settle: [] })
    this.#closed.set(was.step, closed)
    this.#lineage.closed(was, closed)
    return { was, closed, ...(await this.#update()) }
  }

  /** Applies the gradient batch that is not settled, if there is one: that of the last closed step. */
  async #update(): Promise<{ update?: Update; checkpoint?: Checkpoint }> {
    const { log, sink } = this.#o
    const { floor: offset } = await log.position(updating, gradientBatches.name)
    const batch = await recordAt(log, gradientBatches, offset)
    if (!batch) return {}
    const append = await applyBatch(sink, batch)
    await log.commit({ append, settle: [{ group: updating, topic: gradientBatches.name, offset }] })
    const [update, checkpoint] = append.map((m) => m.value)
    return {
      update: update as Update,
      ...(checkpoint === undefined ? {} : { checkpoint: checkpoint as Checkpoint }),
    }
  }

  /** As a stage ends: the last weights, their scores, the end. */
  async #finish(): Promise<void> {
    const { log, training, sink, clock } = this.#o
    const stage = this.#stage.name
    const step = training.steps.at(-1)!.step
    let last = this.#checkpoints.findLast((c) => c.reason === 'stage-end' && c.stage === stage)
    if (!this.#drained || !last) {
      const gradientBatchOffset = await log.offset(gradientBatches.name, 'latest')
      last = await sink.checkpoint({ stage, step, reason: 'stage-end', gradientBatchOffset })
      const drain: Control = {
        type: 'stage-drain',
        stage,
        steps: step,
        version: sink.version,
        ...this.#next(),
      }
      await log.commit({
        append: [
          { topic: control, value: drain },
          { topic: checkpoints, value: last },
        ],
        settle: [],
      })
    }
    await this.#evaluate(stage, last)
    const { version } = last
    const ends: Control[] = [
      {
        type: 'stage-end',
        stage,
        steps: step,
        version,
        checkpoint: last.id,
        reason: step < this.#stage.steps ? 'end of the replayed range' : 'steps',
        seconds: Math.max(0, clock.now() - this.#startedAt) / 1000,
        ...this.#next(),
      },
      { type: 'run-end', version, ...this.#next() },
    ]
    await log.commit({ append: ends.map((value) => ({ topic: control, value })), settle: [] })
  }

  async #evaluate(stage: string, checkpoint: Checkpoint): Promise<void> {
    const { log, evaluator, signal, onEvaluation } = this.#o
    for (const domain of evaluator?.domains ?? []) {
      if (this.#scored.has(`${stage}/${domain}`)) continue
      signal.throwIfAborted()
      const value = await evaluator!.of.evaluate(checkpoint, stage, domain)
      await log.commit({ append: [{ topic: evaluations, value }], settle: [] })
      await onEvaluation(value)
    }
  }

  #next(): { epoch: number; seq: number } {
    return { epoch: this.#o.epoch, seq: this.#seq++ }
  }
}
