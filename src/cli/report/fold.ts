import { Fence } from '../../../streams/fence.ts'
import type { Envelope } from '../../../streams/ports.ts'
import type { Control, Evaluation, GroupOutcome, StageSpec, Update } from '../../../topics/index.ts'
import { rowBefore, rowNames, Scores } from './scores.ts'
import type { CurvePoint, Fates, Interval, Report, StageReport } from './types.ts'

interface Facts {
  begunAt: number | undefined
  lastAt: number | undefined
  closed: number
  ended: { seconds: number; reason: string } | undefined
  /** Groups of the steps that closed with an update. */
  readonly trained: Set<string>
  readonly fates: Fates
  open: number
  /** By step. */
  readonly curve: Map<number, CurvePoint>
}

/**
 * The report as a fold over records. Records of `control` come first, each topic's in order: what becomes of a
 * group depends on the step that closed with it or without it.
 */
export class ReportFold {
  readonly scores = new Scores()
  readonly #facts = new Map<string, Facts>()
  stages: readonly StageSpec[] = []
  #run: { runId: string; seed: number; deterministic: boolean } | undefined
  readonly #fence = new Fence()
  #done = false
  #version = 0
  #first = Number.POSITIVE_INFINITY
  #last = Number.NEGATIVE_INFINITY

  control({ value: c, timestamp }: Envelope<Control>): void {
    if (!this.#fence.admits(c)) return
    this.#seen(timestamp)
    if (c.type === 'run-begin') {
      this.#run = c
      this.stages = c.stages
    } else if (c.type === 'run-end') this.#done = true
    else if (c.type !== 'command' && c.type !== 'set' && c.type !== 'verifier')
      this.#stage(c, this.#of(c.stage), timestamp)
  }

  evaluation({ value, timestamp }: Envelope<Evaluation>): void {
    this.#seen(timestamp)
    this.scores.add(value)
  }

  update({ value: u, timestamp }: Envelope<Update>): void {
    this.#seen(timestamp)
    const facts = this.#of(u.stage)
    facts.lastAt = Math.max(facts.lastAt ?? timestamp, timestamp)
    this.#version = Math.max(this.#version, u.version)
    const { step, loss, entropy, gradNorm, stats } = u
    // What the step closed with counts every group admitted; an update knows only those that it was made of.
    const { reward = stats.reward ?? null, responseLength = stats.responseLength ?? null } =
      facts.curve.get(step) ?? {}
    facts.curve.set(step, { step, reward, loss, entropy, gradNorm, responseLength })
  }

  outcome({ value: g }: Envelope<GroupOutcome>): void {
    const facts = this.#of(g.stage)
    if (g.step > facts.closed && !facts.ended) {
      facts.open += g.members.length
      return
    }
    // Kept, but of no batch: surplus, or of a step that closed without an update.
    const unused = !facts.trained.has(g.groupId)
    for (const { fate } of g.members) facts.fates[unused && fate !== 'error' ? 'dropped' : fate]++
  }

  /** @param of `origin`: how a run came about that need not begin */
  result(of: {
    run: string
    version: string
    seed: number
    running: boolean
    origin: 'imported' | 'rescored' | undefined
  }): Report {
    const rows = rowNames(this.stages).filter((name) => this.scores.row(name).size > 0)
    const byRow = <T>(pick: (cell: { score: number; interval: Interval }) => T) =>
      Object.fromEntries(
        rows.map((r) => [r, Object.fromEntries([...this.scores.row(r)].map(([d, c]) => [d, pick(c)]))]),
      )
    const byStage = <T>(pick: (facts: Facts) => T) =>
      Object.fromEntries(this.stages.map((s) => [s.name, pick(this.#of(s.name))]))
    const { domains } = this.scores
    return {
      run: this.#run?.runId ?? of.run,
      version: of.version,
      seed: this.#run?.seed ?? of.seed,
      deterministic: this.#run?.deterministic ?? false,
      status: this.#status(of),
      policyVersion: this.#version,
      startedAt: iso(this.#first),
      updatedAt: iso(this.#last),
      stages: this.stages.map((s) => this.#stageReport(s)),
      domains,
      matrix: byRow((c) => c.score),
      intervals: byRow((c) => c.interval),
      prompts: Object.fromEntries(
        domains.map((d) => [d, Math.max(...rows.map((r) => this.scores.cell(r, d)?.n ?? 0))]),
      ),
      fates: byStage((f) => f.fates),
      open: byStage((f) => f.open),
      curves: byStage((f) => [...f.curve.values()].sort((a, b) => a.step - b.step)),
    }
  }

  #status({ running, origin }: Parameters<ReportFold['result']>[0]): Report['status'] {
    if (this.#done) return 'done'
    if (running) return 'running'
    return this.#run ? 'interrupted' : (origin ?? 'interrupted')
  }

  #stage(
    c: Exclude<Control, { type: 'run-begin' | 'run-end' | 'command' | 'set' | 'verifier' }>,
    facts: Facts,
    timestamp: number,
  ): void {
    this.#version = Math.max(this.#version, c.version)
    if (c.type === 'stage-begin') facts.begunAt = timestamp
    else if (c.type === 'stage-end') facts.ended = { seconds: c.seconds, reason: c.reason }
    else if (c.type === 'batch-closed') {
      facts.closed = Math.max(facts.closed, c.step)
      if (c.stats?.reward !== undefined) {
        const { reward, responseLength = null } = c.stats
        const none = { loss: null, entropy: null, gradNorm: null }
        facts.curve.set(c.step, { step: c.step, reward, responseLength, ...none })
      }
      if (c.version > c.baseVersion) for (const { groupId } of c.groups) facts.trained.add(groupId)
    }
  }

  #stageReport(spec: StageSpec): StageReport {
    const facts = this.#of(spec.name)
    const before = this.scores.of(rowBefore(this.stages, spec.name), spec.domain)
    const after = this.scores.of(spec.name, spec.domain)
    const ends = this.stages
      .map((s) => this.scores.of(s.name, spec.domain)?.score)
      .filter((s) => s !== undefined)
    const running =
      facts.begunAt === undefined ? null : Math.max(0, (facts.lastAt ?? facts.begunAt) - facts.begunAt) / 1000
    return {
      name: spec.name,
      kind: spec.kind,
      domain: spec.domain,
      status: facts.ended ? 'done' : facts.begunAt === undefined ? 'pending' : 'running',
      steps: facts.closed,
      planned: spec.steps,
      before: before?.score ?? null,
      after: after?.score ?? null,
      best: ends.length > 0 ? Math.max(...ends) : null,
      beforeInterval: before?.interval ?? null,
      afterInterval: after?.interval ?? null,
      seconds: facts.ended?.seconds ?? running,
      reason: facts.ended?.reason ?? null,
    }
  }

  #of(stage: string): Facts {
    const known = this.#facts.get(stage)
    if (known) return known
    const facts: Facts = {
      begunAt: undefined,
      lastAt: undefined,
      closed: 0,
      ended: undefined,
      trained: new Set(),
      fates: { trained: 0, skipped: 0, dropped: 0, error: 0 },
      open: 0,
      curve: new Map(),
    }
    this.#facts.set(stage, facts)
    return facts
  }

  #seen(timestamp: number): void {
    this.#first = Math.min(this.#first, timestamp)
    this.#last = Math.max(this.#last, timestamp)
  }
}

function iso(timestamp: number): string | null {
  return Number.isFinite(timestamp) ? new Date(timestamp).toISOString() : null
}
