import {
  CascadeError,
  isCascadeError,
  type Reward,
  rewards,
  rollouts,
  type Shadow,
  shadows,
  type VerifierAsked,
} from '../topics/index.ts'
import { follow, recordAt } from './follow.ts'
import { identityOf } from './identity.ts'
import type { Clock, Envelope, TopicLog, Verifier } from './ports.ts'
import { ShadowStats } from './shadow-stats.ts'

/** A staged version and what is to become of it. */
export interface Candidate {
  readonly verifier: Verifier
  /** Id of the change that staged it. */
  readonly change: string
  /** When it was staged, milliseconds since 1970: it judges what is rewarded from then on. */
  readonly since: number
  readonly rule: VerifierAsked['rule']
}

export interface Candidates {
  candidate(name: string): Candidate | undefined
  /** Those that are staged now, of every verifier. */
  staged(): readonly Candidate[]
  /** Calls back after every change of a candidate or its rule, until the signal aborts. */
  onChange(callback: () => void, signal: AbortSignal): void
}

/** Milliseconds that a change may have been recorded before this process knows of it. */
const slackMs = 60_000

export interface ShadowOptions {
  domains: readonly string[]
  candidates: Candidates
  clock: Clock
  /** Asks for a change, under an id that is the same whenever the same is asked for again. */
  ask(id: string, asked: VerifierAsked): void
  signal: AbortSignal
}

/** Rewards that are judged together and recorded in one commit. */
const page = { records: 64, bytes: 1024 * 1024 }
/** A candidate with more errors than this share, of at least so many rollouts, is withdrawn. */
const errorBudget = { share: 0.2, of: 20 }

/**
 * Staged versions judge what the active ones have judged, behind the run and without effect on it. Every rollout that is rewarded
 * after a version was staged gets one record in `shadows`, in the order of the rewards. A candidate is promoted by its rule, or
 * withdrawn by it or by its errors.
 *
 * @throws the signal's reason
 */
export async function runShadow(log: TopicLog, options: ShadowOptions): Promise<void> {
  await Promise.all(options.domains.map((domain) => new Shadowing(log, options, domain).run()))
}

class Shadowing {
  readonly #log: TopicLog
  readonly #options: ShadowOptions
  readonly #domain: string
  readonly #stats = new Map<string, ShadowStats>()
  readonly #settled = new Set<string>()
  /** The next reward that has no record yet, by change. */
  readonly #done = new Map<string, number>()

  constructor(log: TopicLog, options: ShadowOptions, domain: string) {
    this.#log = log
    this.#options = options
    this.#domain = domain
  }

  async run(): Promise<void> {
    const { signal } = this.#options
    const read = { from: await this.#log.offset(shadows(this.#domain).name, 'earliest'), signal }
    await follow(this.#log, shadows(this.#domain), { ...read, until: 'end' }, ({ value }) =>
      this.#fold(value),
    )
    // A rule may come, or be found by a restart, when enough is judged already and nothing more will be.
    const decideAll = () => {
      for (const { verifier } of this.#options.candidates.staged()) this.#decide(verifier.name)
    }
    this.#options.candidates.onChange(decideAll, signal)
    decideAll()
    const topic = rewards(this.#domain)
    let next = await this.#begin(topic.name)
    for (;;) {
      signal.throwIfAborted()
      const { records, next: after } = await this.#log
        .fetch(topic, next, page)
        .catch(async (error: unknown) => {
          if (!isCascadeError(error, 'LOG_OFFSET_GONE')) throw error
          return { records: [], next: await this.#log.offset(topic.name, 'earliest') }
        })
      if (records.length > 0) await this.#judge(records)
      else if (after === next) await this.#log.wait(topic.name, next, signal)
      next = after
    }
  }

  /** The first reward that a candidate may have to judge: without one, those of the last minute and what comes. */
  async #begin(topic: string): Promise<number> {
    const { candidates, clock } = this.#options
    const at = (timestamp: number) => this.#log.offset(topic, { timestamp })
    let first = await at(clock.now() - slackMs)
    for (const { change, since } of candidates.staged()) {
      first = Math.min(first, Math.max(await at(since), this.#done.get(change) ?? 0))
    }
    return first
  }

  async #judge(given: readonly Envelope<Reward>[]): Promise<void> {
    const judged = await Promise.all(given.map((record) => this.#shadow(record)))
    const values = judged.filter((s) => s !== undefined)
    if (values.length === 0) return
    const topic = shadows(this.#domain)
    await this.#log.commit({ append: values.map((value) => ({ topic, value })), settle: [] })
    for (const value of values) this.#fold(value)
    for (const name of new Set(values.map((v) => v.verifier))) this.#decide(name)
  }

  async #shadow({ value: reward, offset, timestamp }: Envelope<Reward>): Promise<Shadow | undefined> {
    const active = reward.rewards[0]
    if (!active || reward.kind !== 'reward') return undefined
    const candidate = this.#options.candidates.candidate(active.verifier)
    if (!candidate || timestamp < candidate.since) return undefined
    if (offset < (this.#done.get(candidate.change) ?? 0)) return undefined
    const rollout = await recordAt(this.#log, rollouts(this.#domain), reward.rolloutOffset).catch(gone)
    if (!rollout) return undefined
    const began = this.#options.clock.now()
    const verdict = await this.#verdict(candidate.verifier, rollout.value)
    const latencyMs = Math.max(0, this.#options.clock.now() - began)
    const { version, codeHash } = candidate.verifier
    return {
      id: reward.id,
      ...identityOf(reward),
      index: reward.index,
      verifier: active.verifier,
      change: candidate.change,
      rewardOffset: offset,
      active: {
        version: active.version,
        codeHash: active.codeHash,
        status: active.status,
        ...(active.score === undefined ? {} : { score: active.score }),
        latencyMs: active.latencyMs,
      },
      candidate: { version, codeHash, latencyMs, ...verdict },
    }
  }

  async #verdict(
    verifier: Verifier,
    rollout: Parameters<Verifier['verify']>[0],
  ): Promise<{ status: Shadow['candidate']['status']; score?: number; code?: string; message?: string }> {
    const { signal } = this.#options
    try {
      const verdict = await verifier.verify(rollout, signal)
      if (verdict.outcome === 'failed') {
        const { code, message } = verdict
        return { status: code === 'VERIFIER_TIMEOUT' ? 'timeout' : 'error', code, message }
      }
      return { status: verdict.outcome === 'score' ? 'ok' : 'unparsable', score: verdict.score }
    } catch (error) {
      signal.throwIfAborted()
      const code = isCascadeError(error) ? error.code : 'VERIFIER_FAILED'
      return { status: 'error', code, message: String(error) }
    }
  }

  #fold(record: Shadow): void {
    let stats = this.#stats.get(record.change)
    if (!stats) {
      stats = new ShadowStats()
      this.#stats.set(record.change, stats)
    }
    stats.add(record)
    this.#done.set(record.change, record.rewardOffset + 1)
  }

  #decide(name: string): void {
    const { candidates, ask } = this.#options
    const candidate = candidates.candidate(name)
    const stats = candidate && this.#stats.get(candidate.change)
    if (!candidate || !stats || this.#settled.has(candidate.change)) return
    const verdict = decided(stats, candidate.rule)
    if (!verdict) return
    this.#settled.add(candidate.change)
    const { codeHash, version } = candidate.verifier
    ask(`${verdict.action}-${candidate.change}`, { ...verdict, name, version, codeHash })
  }
}

function decided(
  stats: ShadowStats,
  rule: Candidate['rule'],
): Pick<VerifierAsked, 'action' | 'reason'> | undefined {
  const { judged, errorShare, flipShare } = stats
  const said = `${percent(flipShare)} flips and ${percent(errorShare)} errors in ${judged} rollouts`
  if (judged >= errorBudget.of && errorShare > errorBudget.share) return { action: 'withdraw', reason: said }
  if (!rule || judged < rule.after) return undefined
  const keeps = flipShare <= rule.maxFlips && errorShare <= rule.maxErrors
  return { action: keeps ? 'promote' : 'withdraw', reason: said }
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}

/** A rollout that retention has removed is not judged again. */
function gone(error: unknown): undefined {
  if (error instanceof CascadeError && error.code === 'LOG_OFFSET_GONE') return undefined
  throw error
}
