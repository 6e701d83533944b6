import { startStage } from '../../../streams/coordinator-state.ts'
import { Fence } from '../../../streams/fence.ts'
import type { Control, Evaluation, StageSpec, Update, VerifierAsked } from '../../../topics/index.ts'
import { rowBefore, Scores } from '../report/scores.ts'
import type { Interval } from '../report/types.ts'
import { Pace, Rate } from './pace.ts'

/** What progress is folded from: records of the log as they come, and samples of what was generated since the one before. */
export type ProgressEvent =
  | { readonly type: 'control'; readonly record: Control; readonly timestamp: number }
  | { readonly type: 'update'; readonly record: Update; readonly timestamp: number }
  | { readonly type: 'evaluation'; readonly record: Evaluation; readonly timestamp: number }
  | {
      readonly type: 'throughput'
      readonly tokens: number
      readonly rollouts: number
      readonly timestamp: number
    }

export interface Moved {
  readonly domain: string
  readonly before: number | null
  readonly after: number
  readonly interval: Interval
  /** The domain that the stage trained. */
  readonly own: boolean
}

/** A moment worth telling; also the lines of `--json`. Times are ISO, scores and shares from 0 to 1. */
export type Notice =
  | { event: 'run-begin'; run: string; seed: number; stages: string[] }
  | { event: 'evaluation'; stage: string; domain: string; score: number; interval: Interval; n: number }
  | { event: 'stage-begin'; stage: string; index: number; of: number; domain: string; steps: number }
  | {
      event: 'step'
      stage: string
      step: number
      steps: number
      version: number
      reward: number | null
      loss: number
      /** Nats a token between the distribution sampled from (top-p, top-k) and the one recorded; null where they are one. */
      mismatch: number | null
      gradNorm: number
      entropy: number
      tokensPerSecond: number | null
      rolloutsPerSecond: number | null
      stageSecondsLeft: number | null
      runSecondsLeft: number | null
    }
  | { event: 'no-update'; stage: string; step: number; reason: string }
  | { event: 'stage-end'; stage: string; steps: number; seconds: number; reason: string; scores: Moved[] }
  | { event: 'command'; command: 'pause' | 'resume' | 'stop' | 'finish-stage'; refused: string | null }
  | { event: 'set'; stage: string; field: string; value: number; step: number; refused: string | null }
  | {
      event: 'verifier'
      action: VerifierAsked['action']
      verifier: string
      /** Null where that is the one the run began with, or none was there. */
      version: string | null
      rule: NonNullable<VerifierAsked['rule']> | null
      refused: string | null
      reason: string | null
    }
  | { event: 'run-end'; version: number; seconds: number | null }

/** What a live line shows now; times left in milliseconds. A stage is `ended` until the next one begins. */
export interface View {
  readonly phase: 'starting' | 'training' | 'evaluating' | 'ended' | 'paused' | 'stopping' | 'done'
  readonly stage: string | undefined
  /** From 1. */
  readonly index: number
  readonly count: number
  readonly step: number
  readonly steps: number
  /** Smoothed over some steps. */
  readonly reward: number | undefined
  readonly loss: number | undefined
  readonly mismatch: number | undefined
  readonly tokensPerSecond: number | undefined
  readonly rolloutsPerSecond: number | undefined
  readonly stageLeft: number | undefined
  readonly runLeft: number | undefined
}

/** Weight of the newest step in the smoothed reward. */
const smoothing = 0.2

/** The fold: events in, notices out; it reads no clock, and {@link view} is told the time. */
export class ProgressState {
  readonly #scores = new Scores()
  readonly #pace = new Pace()
  readonly #rate = new Rate()
  readonly #fence = new Fence()
  #stages: readonly StageSpec[] = []
  #stage: StageSpec | undefined
  #phase: 'starting' | 'training' | 'evaluating' | 'ended' | 'done' = 'starting'
  #paused = false
  #stopping = false
  #step = 0
  #reward: number | undefined
  #loss: number | undefined
  #mismatch: number | undefined
  #closed: { stage: string; step: number; reward: number | undefined } | undefined
  #begunAt: number | undefined
  #past = false

  /** @param past of an earlier process: a `stop` that ended it does not hold any more */
  fold(event: ProgressEvent, past = false): Notice[] {
    if (this.#past && !past) this.#rate.begin(event.timestamp)
    this.#past = past
    switch (event.type) {
      case 'control':
        return this.#control(event.record, event.timestamp, past)
      case 'update':
        return this.#update(event.record, event.timestamp)
      case 'evaluation': {
        const { stage, domain, score, interval, n, durationMs } = event.record
        this.#scores.add(event.record)
        this.#pace.evaluated(domain, durationMs)
        if (this.#phase === 'starting') this.#phase = 'evaluating'
        return [{ event: 'evaluation', stage, domain, score, interval, n }]
      }
      case 'throughput':
        this.#rate.add(event)
        return []
    }
  }

  view(now: number): View {
    const { tokens, rollouts } = this.#rate.at(now)
    const held = this.#stopping ? 'stopping' : this.#paused ? 'paused' : undefined
    const left =
      held || this.#phase === 'done' ? undefined : this.#pace.left(this.#stages, this.#stage, this.#step, now)
    return {
      phase: held ?? this.#phase,
      stage: this.#stage?.name,
      index: this.#stage ? this.#stages.indexOf(this.#stage) + 1 : 0,
      count: this.#stages.length,
      step: this.#step,
      steps: this.#stage?.steps ?? 0,
      reward: this.#reward,
      loss: this.#loss,
      mismatch: this.#mismatch,
      tokensPerSecond: tokens,
      rolloutsPerSecond: rollouts,
      stageLeft: left?.stage,
      runLeft: left?.run,
    }
  }

  /** Scores of the untrained model. */
  baseline(): { domain: string; score: number }[] {
    return [...this.#scores.row(startStage)].map(([domain, { score }]) => ({ domain, score }))
  }

  #control(c: Control, timestamp: number, past: boolean): Notice[] {
    if (!this.#fence.admits(c)) return []
    switch (c.type) {
      case 'run-begin':
        this.#stages = c.stages
        this.#begunAt = timestamp
        return [{ event: 'run-begin', run: c.runId, seed: c.seed, stages: c.stages.map((s) => s.name) }]
      case 'stage-begin': {
        const spec = this.#stages.find((s) => s.name === c.stage)
        if (!spec) return []
        this.#stage = spec
        this.#phase = 'training'
        this.#step = 0
        this.#reward = undefined
        this.#loss = undefined
        this.#mismatch = undefined
        this.#pace.begin(timestamp)
        this.#rate.begin(timestamp)
        const { name: stage, domain, steps } = spec
        return [{ event: 'stage-begin', stage, index: c.index + 1, of: this.#stages.length, domain, steps }]
      }
      case 'batch-closed':
        this.#closed = { stage: c.stage, step: c.step, reward: c.stats?.reward }
        if (c.version !== c.baseVersion) return []
        this.#advance(c.stage, c.step, timestamp)
        return [{ event: 'no-update', stage: c.stage, step: c.step, reason: c.reason ?? 'no signal' }]
      case 'stage-drain':
        this.#phase = 'evaluating'
        return []
      case 'stage-end':
        this.#phase = 'ended'
        return [this.#ended(c.stage, c.steps, c.seconds, c.reason)]
      case 'command':
        if (c.command === 'stop') this.#stopping = !past
        else if (c.command !== 'finish-stage') this.#paused = c.command === 'pause'
        return [{ event: 'command', command: c.command, refused: c.refused ?? null }]
      case 'set': {
        const { stage, field, value, step, refused = null } = c
        return [{ event: 'set', stage, field, value, step, refused }]
      }
      case 'verifier': {
        const { action, name, version = null, rule = null, refused = null, reason = null } = c
        return [{ event: 'verifier', action, verifier: name, version, rule, refused, reason }]
      }
      case 'run-end': {
        this.#phase = 'done'
        const seconds = this.#begunAt === undefined ? null : (timestamp - this.#begunAt) / 1000
        return [{ event: 'run-end', version: c.version, seconds }]
      }
    }
  }

  #update(u: Update, timestamp: number): Notice[] {
    this.#advance(u.stage, u.step, timestamp)
    this.#loss = u.loss
    this.#mismatch = u.stats.mismatch
    // What the step closed with counts every group admitted; the update knows only those that it was made of.
    const { stage: closedStage, step: closedStep, reward: closedReward } = this.#closed ?? {}
    const reward =
      (closedStage === u.stage && closedStep === u.step ? closedReward : undefined) ?? u.stats.reward
    if (reward !== undefined) {
      this.#reward = this.#reward === undefined ? reward : this.#reward + smoothing * (reward - this.#reward)
    }
    const view = this.view(timestamp)
    const { stage, step, version, loss, gradNorm, entropy } = u
    return [
      {
        event: 'step',
        stage,
        step,
        steps: view.steps,
        version,
        reward: reward ?? null,
        loss,
        mismatch: u.stats.mismatch ?? null,
        gradNorm,
        entropy,
        tokensPerSecond: view.tokensPerSecond ?? null,
        rolloutsPerSecond: view.rolloutsPerSecond ?? null,
        stageSecondsLeft: view.stageLeft === undefined ? null : view.stageLeft / 1000,
        runSecondsLeft: view.runLeft === undefined ? null : view.runLeft / 1000,
      },
    ]
  }

  #advance(stage: string, step: number, timestamp: number): void {
    if (this.#stage?.name !== stage || step <= this.#step) return
    this.#pace.advance(this.#stage, step - this.#step, timestamp)
    this.#step = step
  }

  #ended(stage: string, steps: number, seconds: number, reason: string): Notice {
    const spec = this.#stages.find((s) => s.name === stage)
    const before = rowBefore(this.#stages, stage)
    const moved = (domain: string): Moved[] => {
      const after = this.#scores.of(stage, domain)
      if (!after) return []
      const was = this.#scores.of(before, domain)?.score ?? null
      return [
        { domain, before: was, after: after.score, interval: after.interval, own: domain === spec?.domain },
      ]
    }
    const { domains } = this.#scores
    const own = spec && domains.includes(spec.domain) ? [spec.domain] : []
    const scores = [...own, ...domains.filter((d) => !own.includes(d))].flatMap(moved)
    return { event: 'stage-end', stage, steps, seconds, reason, scores }
  }
}
