import type { Context } from '../command.ts'
import type { OpenRun } from '../open-run.ts'
import { percent, rounded, unknown } from '../output/format.ts'
import { print } from '../output/print.ts'
import { table } from '../output/table.ts'
import { type FilterFlags, filterOf, verdictOf } from './filter.ts'
import { longWork } from './progress.ts'
import type { Range } from './range.ts'
import { type JudgedRollout, judgedRollouts } from './step-rewards.ts'
import { type Spread, type Summary, Tally } from './tally.ts'

/** Says what a range holds. @throws `USAGE`, `LOG_OFFSET_GONE`, the signal's reason */
export async function inspect(
  { log, manifest }: OpenRun,
  range: Range,
  flags: FilterFlags & { json?: true },
  { stdout, stderr, signal }: Context,
): Promise<void> {
  const passes = filterOf(flags)
  const tally = new Tally(
    (name) => manifest.config.stages.find((s) => s.kind === 'rl' && s.name === name) as never,
  )
  {
    using work = longWork(stderr)
    for await (const judged of judgedRollouts(log, range, signal, (terminal) => tally.step(terminal))) {
      work.at(`reading ${range.topic.name}: offset ${judged.rollout.offset} of ${range.to}`)
      if (!passes(judged)) continue
      tally.add(judged)
      if (flags.json) await print(stdout, `${JSON.stringify(lineOf(judged))}\n`, signal)
    }
  }
  const { domain, topic, from, to } = range
  const summary = tally.summary()
  const text = flags.json
    ? `${JSON.stringify({ event: 'summary', run: manifest.runId, topic: topic.name, domain, from, to, ...summary })}\n`
    : human(`${topic.name}, offsets ${from} to ${to}`, summary)
  await print(stdout, text, signal)
}

function lineOf({ rollout: { offset, value: r }, reward }: JudgedRollout) {
  const component = reward?.rewards[0]
  return {
    event: 'rollout',
    offset,
    id: r.id,
    groupId: r.groupId,
    stage: r.stage,
    step: r.step,
    promptId: r.promptId,
    policyVersion: r.policyVersion,
    verdict: verdictOf(reward),
    reward: reward?.score ?? null,
    reason: reward?.reason ?? null,
    verifier: component?.verifier ?? null,
    verifierVersion: component?.version ?? null,
    detail: component?.detail ?? null,
    tokens: r.absent?.includes('responseTokens') ? null : r.responseTokens.length,
    truncated: r.status === 'truncated',
    prompt: r.promptText,
    response: r.responseText,
    groundTruth: r.groundTruth,
  }
}

function human(title: string, s: Summary): string {
  const share = (n: number) => `${n} (${percent(s.rollouts === 0 ? undefined : n / s.rollouts)})`
  const steps = Object.entries(s.steps).map(([stage, { first, last }]) => `${stage} ${first}–${last}`)
  const { verdicts: v, outcomes: o } = s
  const errors = Object.entries(s.errors).map(([code, n]) => `${code} ${n}`)
  const facts = [
    ['rollouts', String(s.rollouts)],
    ['groups', `${s.groups}: ${o.kept} kept, ${o.filtered} filtered, ${o.lost} lost, ${o.open} open`],
    ['prompts', String(s.prompts)],
    ['steps', steps.join(', ') || unknown],
    ['scored', share(v.score)],
    ['unparsable', share(v.unparsable)],
    ['errors', errors.length > 0 ? `${share(v.error)}: ${errors.join(', ')}` : share(v.error)],
    ['not judged', share(v.none)],
    ['truncated', share(s.truncated)],
  ]
  const right = (name: string) => ({ title: name, align: 'right' as const })
  const measured = ['n', 'mean', 'min', 'median', 'p95', 'max'].map(right)
  const spreads = table(
    [{ title: '' }, ...measured],
    [
      ['reward', ...spread(s.reward)],
      ...s.verifiers.map((b) => [`  ${b.verifier}@${b.version}`, ...spread(b.reward)]),
      ['tokens', ...spread(s.tokens)],
    ],
  )
  const most = Math.max(1, ...s.distribution.map((b) => b.n))
  const shown = table(
    [{ title: 'reward' }, right('rollouts'), { title: '' }],
    s.distribution.map((b) => [
      b.from === b.to ? rounded(b.from) : `${rounded(b.from)} to ${rounded(b.to)}`,
      String(b.n),
      '█'.repeat(Math.ceil((30 * b.n) / most)),
    ]),
  )
  const parts = [
    table([{ title: '' }, { title: '' }], facts),
    spreads,
    s.distribution.length > 0 ? shown : [],
  ]
  return `${title}\n\n${parts
    .filter((p) => p.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

function spread(of: Spread | null): string[] {
  if (!of) return ['0', ...Array.from({ length: 5 }, () => unknown)]
  return [String(of.n), ...[of.mean, of.min, of.p50, of.p95, of.max].map(rounded)]
}
