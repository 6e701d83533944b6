import {
  advantages,
  CascadeError,
  type Control,
  checkpoints,
  control,
  demonstrations,
  evaluations,
  type GroupOutcome,
  prompts,
  type RlStage,
  type StageSpec,
  updates,
} from '../topics/index.ts'
import { type CoordinatorEvent, CoordinatorState } from './coordinator-state.ts'
import { type Decision, decide } from './decide.ts'
import { follow } from './follow.ts'
import { groupId, hashOutcome } from './group-id.ts'
import type { Append, Clock, Evaluator, InboxCommand, Probe, PromptSource, TopicLog } from './ports.ts'

export interface CoordinateOptions {
  runId: string
  seed: number
  deterministic: boolean
  configHash: string
  stages: readonly StageSpec[]
  /** Fencing epoch of this coordinator, higher than any before. */
  epoch: number
  source: PromptSource
  evaluator: Evaluator
  /** Commands of other processes. */
  inbox?: (signal: AbortSignal) => AsyncIterable<InboxCommand>
  clock: Clock
  probe?: Probe
  signal: AbortSignal
}

type Body<C = Control> = C extends Control ? Omit<C, 'epoch' | 'seq'> : never

/**
 * The one writer of `prompts` and `control`. Its state is a fold over the log, its own records among it, so it
 * needs no position: whatever was committed is a fact, whatever was not is decided again, the same way.
 *
 * Resolves `done` when the run has ended, `stopped` on a `stop` command.
 *
 * @throws the signal's reason; `VERIFIER_ERROR_BUDGET` where too many members of a stage are errors.
 */
export async function coordinate(log: TopicLog, options: CoordinateOptions): Promise<'done' | 'stopped'> {
  const stopFollowing = new AbortController()
  const signal = AbortSignal.any([options.signal, stopFollowing.signal])
  const coordinator = new Coordinator(log, options)
  const next = await coordinator.rebuild(signal)
  const following = coordinator.follow(next, signal)
  try {
    return await Promise.race([coordinator.run(), following])
  } finally {
    stopFollowing.abort()
    // The followers end with the abort's reason; it is ours, or already on its way to the caller.
    await following.catch(() => undefined)
  }
}

class Coordinator {
  readonly #log: TopicLog
  readonly #options: CoordinateOptions
  readonly #state: CoordinatorState
  readonly #domains: readonly string[]
  #seq = 0
  #poke: () => void = () => undefined
  #stopped = false
  #failure: Error | undefined
  /** Errors among members seen while alive, by stage; a restart begins anew, after the cause was mended. */
  readonly #errors = new Map<string, { members: number; errors: number }>()

  constructor(log: TopicLog, options: CoordinateOptions) {
    this.#log = log
    this.#options = options
    this.#state = new CoordinatorState(options.stages)
    this.#domains = [...new Set(options.stages.filter((s) => s.kind === 'rl').map((s) => s.domain))]
  }

  /** Folds all that is in the log; returns where following goes on. */
  async rebuild(signal: AbortSignal): Promise<Map<string, number>> {
    const next = new Map<string, number>()
    const read = { from: 0, until: 'end', signal } as const
    await follow(this.#log, control, read, (r) => {
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
    await follow(this.#log, evaluations, read, (r) =>
      this.#state.fold({ type: 'evaluation', record: r.value }),
    )
    for (const [topic, run] of this.#inputs()) next.set(topic, await run(0, 'end', signal))
    return next
  }

  /** Folds what others write, as they write it. Ends only by the signal. */
  async follow(next: ReadonlyMap<string, number>, signal: AbortSignal): Promise<never> {
    const running: Promise<unknown>[] = [...this.#inputs()].map(([topic, run]) =>
      run(next.get(topic) ?? 0, undefined, signal),
    )
    if (this.#options.inbox) running.push(this.#obey(this.#options.inbox(signal)))
    running.push(
      new Promise((_, reject) => {
        if (signal.aborted) reject(signal.reason)
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      }),
    )
    await Promise.all(running)
    throw new CascadeError('STREAM_PROTOCOL', 'the coordinator stopped following its topics')
  }

  async run(): Promise<'done' | 'stopped'> {
    if (this.#state.paused)
      await this.#control({ type: 'command', command: 'resume', id: `resume-${this.#options.epoch}` })
    for (;;) {
      this.#options.signal.throwIfAborted()
      if (this.#failure) throw this.#failure
      if (this.#stopped) return 'stopped'
      // Registered before deciding: a fact that arrives in between must not be slept through.
      const woken = new Promise<void>((resolve) => {
        this.#poke = resolve
      })
      const decision = decide(this.#state, this.#options.source.domains)
      if (decision) await this.#execute(decision)
      else if (this.#state.runEnded) return 'done'
      else await woken
    }
  }

  *#inputs(): Generator<
    [string, (from: number, until: 'end' | undefined, signal: AbortSignal) => Promise<number>]
  > {
    const log = this.#log
    const reader =
      <T>(topic: Parameters<typeof follow<T>>[1], event: (value: T, offset: number) => CoordinatorEvent) =>
      async (from: number, until: 'end' | undefined, signal: AbortSignal) =>
        follow(
          log,
          topic,
          { from: Math.max(from, await log.offset(topic.name, 'earliest')), until, signal },
          (r) => {
            const e = event(r.value, r.offset)
            this.#state.fold(e)
            if (until === undefined) this.#watch(e)
            this.#poke()
          },
        )
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

  /** Too many errors end the stage's run: a broken verifier must stop training, not drain the prompts. */
  #watch(event: CoordinatorEvent): void {
    if (event.type !== 'outcome') return
    const record: GroupOutcome = event.record
    const stage = this.#options.stages.find((s) => s.name === record.stage)
    if (stage?.kind !== 'rl') return
    const seen = this.#errors.get(stage.name) ?? { members: 0, errors: 0 }
    seen.members += record.members.length
    seen.errors += record.members.filter((m) => m.fate === 'error').length
    this.#errors.set(stage.name, seen)
    if (seen.members >= stage.prompts * stage.groupSize && seen.errors > stage.maxErrorShare * seen.members) {
      this.#failure = new CascadeError(
        'VERIFIER_ERROR_BUDGET',
        `stage ${stage.name}: ${seen.errors} of ${seen.members} rollouts ended in an error, more than the share of ` +
          `${stage.maxErrorShare} that maxErrorShare allows; see the reasons in rewards.${stage.domain}.dlq and rollouts.${stage.domain}.dlq`,
      )
    }
  }

  async #obey(commands: AsyncIterable<InboxCommand>): Promise<void> {
    for await (const { id, command } of commands) {
      if (this.#state.commands.has(id)) continue
      await this.#control({ type: 'command', command, id }, [], [id])
      if (command === 'stop') this.#stopped = true
      this.#poke()
    }
  }

  async #execute(d: Decision): Promise<void> {
    const options = this.#options
    switch (d.type) {
      case 'run-begin': {
        const { runId, seed, deterministic, configHash } = options
        await this.#control({
          type: 'run-begin',
          runId,
          seed,
          deterministic,
          configHash,
          stages: [...options.stages],
        })
        break
      }
      case 'evaluate': {
        options.probe?.('evaluation')
        const record = await options.evaluator.evaluate(d.checkpoint, d.stage, d.domain)
        await this.#log.commit({ append: [{ topic: evaluations, value: record }], settle: [] })
        this.#state.fold({ type: 'evaluation', record })
        break
      }
      case 'admit':
        await this.#admit(d)
        break
      case 'demonstrate':
        await this.#demonstrate(d)
        break
      case 'close':
        await this.#control({
          type: 'batch-closed',
          stage: d.stage.name,
          step: d.step,
          baseVersion: d.baseVersion,
          version: d.version,
          opens: d.opens,
          groups: d.groups.map((g) => ({
            groupId: g.groupId,
            admission: g.admission,
            outcomeOffset: g.offset,
            hash: g.hash,
          })),
          counts: d.counts,
          ...(d.reason === undefined ? {} : { reason: d.reason }),
        })
        break
      case 'stage-drain':
        options.probe?.('drain')
        await this.#control(d)
        break
      case 'stage-end': {
        options.probe?.('transition')
        const { startedAt, ...end } = d
        await this.#control({ ...end, seconds: Math.max(0, options.clock.now() - startedAt) / 1000 })
        break
      }
      case 'stage-begin':
      case 'run-end':
        await this.#control(d)
        break
    }
  }

  async #admit(d: Extract<Decision, { type: 'admit' }>): Promise<void> {
    const topic = prompts(d.stage.domain)
    const admissions = Array.from({ length: d.count }, (_, i) => d.first + i)
    const append = admissions.map((admission) => ({
      topic,
      value: {
        ...this.#options.source.prompt(d.stage, admission),
        groupId: groupId(this.#options.runId, d.stage.name, admission),
        groupSize: d.stage.groupSize,
        stage: d.stage.name,
        domain: d.stage.domain,
        step: d.step,
        admission,
        policyVersion: d.version,
        sampling: samplingOf(d.stage, this.#options.source.stopTokens),
        seed: this.#options.seed,
      },
    }))
    await this.#log.commit({ append: append, settle: [] })
    for (const admission of admissions) {
      this.#state.fold({ type: 'admitted', stage: d.stage.name, step: d.step, admission })
    }
  }

  async #demonstrate(d: Extract<Decision, { type: 'demonstrate' }>): Promise<void> {
    const from = await this.#log.offset(demonstrations.name, 'latest')
    const append = Array.from({ length: d.count }, (_, i) => ({
      topic: demonstrations,
      value: {
        ...this.#options.source.demonstration(d.stage, d.first + i),
        id: groupId(this.#options.runId, d.stage.name, d.first + i),
        stage: d.stage.name,
        step: d.step,
        admission: d.first + i,
      },
    }))
    await this.#control(
      {
        type: 'batch-closed',
        stage: d.stage.name,
        step: d.step,
        baseVersion: d.baseVersion,
        version: d.baseVersion + 1,
        opens: d.opens,
        groups: [],
        demonstrations: { from, to: from + d.count },
        counts: { admitted: d.count, kept: d.count, filtered: 0, lost: 0 },
      },
      append,
    )
  }

  async #control(body: Body, append: readonly Append[] = [], inbox?: readonly string[]): Promise<void> {
    const record = { ...body, epoch: this.#options.epoch, seq: this.#seq++ } as Control
    await this.#log.commit({
      append: [...append, { topic: control, value: record }],
      settle: [],
      ...(inbox ? { inbox } : {}),
    })
    this.#state.fold({ type: 'control', record, timestamp: this.#options.clock.now() })
  }
}

function samplingOf(stage: RlStage, stopTokens: readonly number[]) {
  const { temperature, topP, topK, maxTokens, logprobsMode } = stage
  return { temperature, topP, topK, maxTokens, logprobsMode, stopTokens: [...stopTokens] }
}
