import { follow } from '../../../streams/follow.ts'
import { ShadowStats, type ShadowSummary } from '../../../streams/shadow-stats.ts'
import {
  isCascadeError,
  rlDomains,
  type Shadow,
  shadows,
  type VerifierChange,
} from '../../../topics/index.ts'
import { wilson } from '../../policy/wilson.ts'
import type { Context } from '../command.ts'
import type { OpenRun } from '../open-run.ts'
import { percent, points, range } from '../output/format.ts'
import { print } from '../output/print.ts'
import { table } from '../output/table.ts'
import { versionHistory } from './versions.ts'

interface Compared {
  readonly domain: string
  readonly last: Shadow
  readonly stats: ShadowStats
  /** What became of it; undefined while it is staged. */
  fate?: Fate
}

interface Fate {
  readonly action: 'promoted' | 'withdrawn' | 'replaced'
  /** Of a rule or of the error budget; null where a person did it. */
  readonly reason: string | null
}

/** `cascade verifiers diff`: every candidate that the run has had, the newest last. */
export async function diff(
  { log, manifest }: OpenRun,
  flags: { follow?: true; json?: true },
  context: Context,
): Promise<void> {
  const { signal } = context
  const domains = rlDomains(manifest.config.stages)
  const compared = new Map<string, Compared>()
  const next = new Map(domains.map((domain) => [domain, 0]))
  const read = async () => {
    const before = [...next.values()].join()
    for (const domain of domains) {
      const topic = shadows(domain)
      const from = Math.max(next.get(domain)!, await log.offset(topic.name, 'earliest'))
      const end = await follow(log, topic, { from, until: 'end', signal }, ({ value }) => {
        const key = `${domain} ${value.change}`
        const stats = compared.get(key)?.stats ?? new ShadowStats()
        stats.add(value)
        compared.set(key, { domain, last: value, stats })
      })
      next.set(domain, end)
    }
    const { changes } = await versionHistory(log, signal)
    for (const one of compared.values()) {
      const fate = fateOf(one.last, changes)
      if (fate) one.fate = fate
    }
    return before !== [...next.values()].join()
  }
  for (let first = true; ; first = false) {
    const changed = await read()
    if (first || changed) await print(context.stdout, textOf([...compared.values()], flags), signal)
    if (!flags.follow) return
    try {
      await Promise.race(domains.map((domain) => log.wait(shadows(domain).name, next.get(domain)!, signal)))
    } catch (error) {
      // Ctrl-C is the normal end of following.
      if (isCascadeError(error, 'INTERRUPTED')) return
      throw error
    }
  }
}

/** The first change that ended the candidate's time beside the active version. */
function fateOf(
  { change: id, verifier }: Shadow,
  changes: readonly { change: VerifierChange }[],
): Fate | undefined {
  const since = changes.findIndex(({ change }) => change.id === id)
  for (const { change } of changes.slice(since + 1)) {
    const { action, name, rule, reason = null, refused } = change
    if (name !== verifier || refused !== undefined) continue
    if (action === 'stage') return { action: 'replaced', reason }
    if (action === 'withdraw') return { action: 'withdrawn', reason }
    if (action === 'promote' && !rule) return { action: 'promoted', reason }
  }
  return undefined
}

function textOf(all: readonly Compared[], flags: { json?: true }): string {
  if (flags.json) return all.map((c) => `${JSON.stringify(objectOf(c))}\n`).join('')
  if (all.length === 0) return 'No staged version has judged anything yet.\n'
  return all.map((c) => `${blockOf(c).join('\n')}\n`).join('\n')
}

function objectOf({ domain, last, stats, fate }: Compared) {
  const summary = stats.summary()
  return {
    domain,
    verifier: last.verifier,
    change: last.change,
    active: { version: last.active.version, codeHash: last.active.codeHash },
    candidate: { version: last.candidate.version, codeHash: last.candidate.codeHash },
    ...summary,
    flips: flipsOf(summary),
    fate: fate ?? null,
  }
}

function flipsOf({ up, down, paired }: ShadowSummary) {
  const share = paired === 0 ? 0 : (up + down) / paired
  return { share, interval: paired === 0 ? [0, 1] : wilson(share, paired) }
}

function blockOf({ domain, last, stats, fate }: Compared): string[] {
  const s = stats.summary()
  const flips = flipsOf(s)
  const { mean, halfWidth, groups } = s.difference
  const head = `${last.verifier} (${domain}): ${last.candidate.version} beside ${last.active.version}`
  const rows = [
    [
      'rollouts',
      `${s.judged}, of which ${s.paired} have two scores and ${s.errors} are errors of the candidate`,
    ],
    [
      'flips',
      `${s.up} up, ${s.down} down: ${percent(flips.share)} (95 % interval ${range(flips.interval as [number, number])})`,
    ],
    ['mean score', `${s.activeMean.toFixed(3)} → ${s.candidateMean.toFixed(3)}`],
    ['difference', `${points(mean)} ± ${(halfWidth * 100).toFixed(1)} points over ${groups} whole groups`],
    [
      'advantages',
      `move in ${s.advantages.changed} of ${groups} groups, by ${s.advantages.meanMove.toFixed(3)} in the mean`,
    ],
    ['latency', `${s.activeMs} ms → ${s.candidateMs} ms (medians)`],
    ['fate', fate ? `${fate.action}${fate.reason === null ? '' : `: ${fate.reason}`}` : 'still staged'],
  ]
  return [head, ...table([{ title: '' }, { title: '' }], rows).map((line) => `  ${line}`)]
}
