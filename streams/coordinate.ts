import {
  advantages,
  CascadeError,
  type Control,
  checkpoints,
  control,
  demonstrations,
  evaluations,
  prompts,
  rlDomains,
  type SettingAsked,
  type StageSpec,
  updates,
} from '../topics/index.ts'
import { type AdmissionOptions, demonstrationRecords, promptRecords } from './admissions.ts'
import { batchClosedOf } from './close-step.ts'
import { type CoordinatorEvent, CoordinatorState } from './coordinator-state.ts'
import { type Decision, decide } from './decide.ts'
import { ErrorBudget } from './error-budget.ts'
import { follow } from './follow.ts'
import { hashOutcome } from './group-id.ts'
import type { Append, Clock, Evaluator, InboxCommand, Probe, TopicLog } from './ports.ts'
import { settingFault } from './stage-settings.ts'

export interface CoordinateOptions extends AdmissionOptions {
  deterministic: boolean
  configHash: string
  stages: readonly StageSpec[]
  /** Fencing epoch of this coordinator, higher than any before. */
  epoch: number
  evaluator: Evaluator
  /** Commands of other processes; ends, or throws the signal's reason, when the signal aborts. */
  inbox?: (signal: AbortSignal) => AsyncIterable<InboxCommand>
  clock: Clock
  probe?: Probe
  signal: AbortSignal
}

type Body<C = Control> = C extends Control ? Omit<C, 'epoch' | 'seq'> : never

/**
 * The one writer of `prompts`, `demonstrations` and `control`. Its state is a fold over the log, its own records among
 * it, so it needs no position: whatever was committed is a fact, whatever was not is decided again, the same way.
 *
 * Resolves `done` when the run has ended, `stopped` on a `stop` command, which does not wait for an evaluation. However it ends,
 * no commit of it is under way then.
 *
 * @throws the signal's reason; `VERIFIER_ERROR_BUDGET` where too many members of a step are errors; what log,
 * evaluator or prompt source throw.
 */
export async function coordinate(log: TopicLog, options: CoordinateOptions): Promise<'done' | 'stopped'> {
  const end = new AbortController()
  const signal = AbortSignal.any([options.signal, end.signal])
  const coordinator = new Coordinator(log, options, signal)
  const following = coordinator.follow(await coordinator.rebuild())
  const deciding = coordinator.decide()
  try {
    return await Promise.race([deciding, Promise.all(following).then(endless)])
  } finally {
    end.abort()
    await Promise.allSettled([deciding, ...following])
  }
}

function endless(): never {
  throw new CascadeError('STREAM_PROTOCOL', 'the coordinator stopped following its topics')
}

class Coordinator {
  readonly #log: TopicLog
  readonly #options: CoordinateOptions
  readonly #signal: AbortSignal
  readonly #state: CoordinatorState
  readonly #domains: readonly string[]
  readonly #stop = new AbortController()
  /** Counts from now on: a restart begins anew, after the cause was mended. */
  readonly #budget = new ErrorBudget()
  #failure: Error | undefined
  #executing: { decision: Decision; execution: Promise<void> } | undefined
  /** Records that the next decision waits for. */
  #pending: Promise<void> = Promise.resolve()
  #seq = 0
  #turn: Promise<void> = Promise.resolve()
  #poke: () => void = () => undefined

  constructor(log: TopicLog, options: CoordinateOptions, signal: AbortSignal) {
    this.#log = log
    this.#options = options
    this.#signal = signal
    this.#state = new CoordinatorState(options.stages)
    this.#domains = rlDomains(options.stages)
  }

  /** Folds all that is in the log; returns where following goes on. */
  async rebuild(): Promise<Map<string, number>> {
    const read = { until: 'end', signal: this.#signal } as const
    await follow(this.#log, control, { ...read, from: 0 }, (r) => {
      this.#seq = Math.max(this.#seq, r.value.seq + 1)
      this.#state.fold({ type: 'control', record: r.value, timestamp: r.timestamp })
    })
    for (const domain of this.#domains) {
      const from = await this.#log.offset(prompts(domain).name, 'earliest')
      await follow(this.#log, prompts(domain), { ...read, from }, (r) => {
        const { stage, step, admission } = r.value
        this.#state.fold({ type: 'admitted', stage, step, admission })
      })
    }
    await follow(this.#log, evaluations, { ...read, from: 0 }, (r) =>
      this.#state.fold({ type: 'evaluation', record: r.value }),
    )
    const next = new Map<string, number>()
    for (const [topic, run] of this.#inputs()) next.set(topic, await run(0, 'end'))
    return next
  }

  /** Folds what others write, as they write it. None of these ends before the signal aborts. */
  follow(next: ReadonlyMap<string, number>): Promise<unknown>[] {
    const following: Promise<unknown>[] = []
    for (const [topic, run] of this.#inputs()) following.push(run(next.get(topic) ?? 0, undefined))
    if (this.#options.inbox) following.push(this.#obey(this.#options.inbox(this.#signal)))
    return following
  }

  /** One decision after the other, until the run has ended or is stopped. */
  async decide(): Promise<'done' | 'stopped'> {
    const { epoch, source } = this.#options
    this.#signal.addEventListener('abort', () => this.#poke(), { once: true })
    if (this.#state.paused) await this.#control({ type: 'command', command: 'resume', id: `resume-${epoch}` })
    for (;;) {
      // Not by a method: between its end and a decision there must be no turn in which another record could come.
      for (let seen: Promise<void> | undefined; seen !== this.#pending; ) {
        seen = this.#pending
        await seen
      }
      this.#signal.throwIfAborted()
      if (this.#failure) throw this.#failure
      if (this.#stop.signal.aborted) return 'stopped'
      // Registered before deciding: a fact that arrives in between must not be slept through.
      const woken = new Promise<void>((resolve) => {
        this.#poke = resolve
      })
      const decision = decide(this.#state, source.domains)
      if (decision) {
        const execution = this.#execute(decision)
        this.#executing = { decision, execution }
        await execution
        this.#executing = undefined
      } else if (this.#state.runEnded) return 'done'
      else await woken
    }
  }

  *#inputs(): Generator<[string, (from: number, until: 'end' | undefined) => Promise<number>]> {
    const log = this.#log
    const reader =
      <T>(topic: Parameters<typeof follow<T>>[1], event: (value: T, offset: number) => CoordinatorEvent) =>
      async (from: number, until: 'end' | undefined) => {
        const earliest = await log.offset(topic.name, 'earliest')
        return follow(log, topic, { from: Math.max(from, earliest), until, signal: this.#signal }, (r) => {
          const e = event(r.value, r.offset)
          this.#state.fold(e)
          if (until === undefined) this.#watch(e)
          this.#poke()
        })
      }
    yield ['updates', reader(updates, (record) => ({ type: 'update', record }))]
    yield ['checkpoints', reader(checkpoints, (record) => ({ type: 'checkpoint', record }))]
    for (const domain of this.#domains) {
      yield [
        `advantages.${domain}`,
        reader(advantages(domain), (record, offset) => ({
          type: 'outcome',
          record,
          offset,
          hash: hashOutcome(record),
        })),
      ]
    }
  }

  /** A broken verifier must stop training, not drain the prompts. */
  #watch(event: CoordinatorEvent): void {
    if (event.type !== 'outcome') return
    const stage = this.#options.stages.find((s) => s.name === event.record.stage)
    if (stage?.kind !== 'rl') return
    this.#failure ??= this.#budget.exceeded(event.record, this.#state.specAt(stage, event.record.step))
  }

  async #obey(commands: AsyncIterable<InboxCommand>): Promise<void> {
    for await (const given of commands) {
      const { id, command } = given
      if (this.#state.commands.has(id)) continue
      if (command === 'verifier') {
        const { verifiers } = this.#state
        // Decided in the turn of the record: what others asked before has been folded then.
        await this.#control(() => verifiers.decided(given.asked, id), [], given.own ? undefined : [id])
        continue
      }
      if (command === 'set') {
        const { asked } = given
        await this.#between(() => this.#control(() => this.#setting(asked, id), [], [id]))
        continue
      }
      if (command === 'finish-stage') {
        await this.#between(() => this.#control(() => this.#finishing(id), [], [id]))
        this.#poke()
        continue
      }
      await this.#control({ type: 'command', command, id }, [], [id])
      if (command === 'stop') this.#stop.abort()
      this.#poke()
    }
  }

  /**
   * Records what steps depend on while nothing of a step is under way that was decided without it; the next decision waits for it. An evaluation
   * decides nothing, and may take long.
   */
  #between(record: () => Promise<void>): Promise<void> {
    const { decision, execution } = this.#executing ?? {}
    const before = decision && decision.type !== 'evaluate' ? execution : undefined
    this.#pending = this.#pending.then(() => before).then(record)
    return this.#pending
  }

  /** Decided in the turn of the record, as it all is that depends on what stands before it. */
  #setting(asked: SettingAsked, id: string): Body {
    const facts = this.#state.facts.get(asked.stage)
    const open = (facts?.open.size ?? 0) > 0
    const refused =
      settingFault(this.#options.stages, asked) ??
      (facts?.ended || facts?.drained ? `${asked.stage}: expected a stage that has steps to come` : undefined)
    const step = (facts?.closed ?? 0) + (open ? 2 : 1)
    return { type: 'set', ...asked, step, id, ...(refused === undefined ? {} : { refused }) }
  }

  #finishing(id: string): Body {
    const current = this.#state.current()
    const going = current?.facts.begun === true && !current.facts.drained
    return {
      type: 'command',
      command: 'finish-stage',
      id,
      ...(going ? { stage: current.spec.name } : { refused: 'expected a stage that is going on' }),
    }
  }

  async #execute(d: Decision): Promise<void> {
    const options = this.#options
    switch (d.type) {
      case 'run-begin': {
        const { runId, seed, deterministic, configHash, stages } = options
        await this.#control({ ...d, runId, seed, deterministic, configHash, stages: [...stages] })
        break
      }
      case 'evaluate':
        await this.#evaluate(d)
        break
      case 'admit':
        await this.#log.commit({ append: promptRecords(d, options), settle: [] })
        for (let i = 0; i < d.count; i++) {
          this.#state.fold({ type: 'admitted', stage: d.stage.name, step: d.step, admission: d.first + i })
        }
        break
      case 'demonstrate':
        await this.#demonstrate(d)
        break
      case 'close':
        await this.#control(batchClosedOf(d))
        break
      case 'stage-drain':
        options.probe?.('drain')
        await this.#control(d)
        break
      case 'stage-end': {
        options.probe?.('transition')
        const { startedAt, ...rest } = d
        await this.#control({ ...rest, seconds: Math.max(0, options.clock.now() - startedAt) / 1000 })
        break
      }
      case 'stage-begin':
      case 'run-end':
        await this.#control(d)
        break
    }
  }

  async #evaluate(d: Extract<Decision, { type: 'evaluate' }>): Promise<void> {
    const { evaluator, probe } = this.#options
    probe?.('evaluation')
    const given = AbortSignal.any([this.#signal, this.#stop.signal])
    const record = await unlessAborted(evaluator.evaluate(d.checkpoint, d.stage, d.domain), given)
    if (!record) return
    await this.#log.commit({ append: [{ topic: evaluations, value: record }], settle: [] })
    this.#state.fold({ type: 'evaluation', record })
  }

  async #demonstrate(d: Extract<Decision, { type: 'demonstrate' }>): Promise<void> {
    const from = await this.#log.offset(demonstrations.name, 'latest')
    const { count, step, baseVersion, opens, settings } = d
    await this.#control(
      {
        type: 'batch-closed',
        stage: d.stage.name,
        step,
        baseVersion,
        version: baseVersion + 1,
        opens,
        groups: [],
        demonstrations: { from, to: from + count },
        counts: { admitted: count, kept: count, filtered: 0, lost: 0 },
        ...(settings === undefined ? {} : { settings }),
      },
      demonstrationRecords(d, this.#options),
    )
  }

  /** One at a time: the order of the log is that of `seq`, and of the fold. */
  #control(
    body: Body | (() => Body),
    append: readonly Append[] = [],
    inbox?: readonly string[],
  ): Promise<void> {
    const done = this.#turn.then(async () => {
      const given = typeof body === 'function' ? body() : body
      const record = { ...given, epoch: this.#options.epoch, seq: this.#seq++ } as Control
      await this.#log.commit({
        append: [...append, { topic: control, value: record }],
        settle: [],
        ...(inbox ? { inbox } : {}),
      })
      this.#state.fold({ type: 'control', record, timestamp: this.#options.clock.now() })
    })
    // Whoever asked hears of a failure; the next in line only waits.
    this.#turn = done.catch(() => undefined)
    return done
  }
}

/** What the work comes to; nothing where the signal aborts first, whatever the work comes to afterwards. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  let stop: () => void = () => undefined
  const aborted = new Promise<undefined>((resolve) => {
    stop = () => resolve(undefined)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
  })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}
