import { percent, points, rounded, unknown } from '../output/format.ts'
import { table } from '../output/table.ts'
import type { VerdictKind } from './filter.ts'
import type { PairedReport } from './paired.ts'

const kinds: readonly VerdictKind[] = ['score', 'unparsable', 'error', 'none']
const words: Readonly<Record<VerdictKind, string>> = {
  score: 'scored',
  unparsable: 'unparsable',
  error: 'error',
  none: 'not judged',
}

/** A paired report for a person. */
export function pairedText(r: PairedReport, by: string): string {
  const right = (title: string) => ({ title, align: 'right' as const })
  const moves = table(
    [{ title: 'before \\ after' }, ...kinds.map((k) => right(words[k])), right('all')],
    [
      ...kinds.map((from) => [
        words[from],
        ...kinds.map((to) => String(r.moves[from][to])),
        String(r.before[from]),
      ]),
      ['all', ...kinds.map((to) => String(r.after[to])), String(r.rollouts)],
    ],
  )
  const { paired: p, groups: g } = r
  const shown = (x: number | null) => (x === null ? unknown : x.toFixed(4))
  const interval =
    p.interval === null ? '' : `, 95 % interval ${p.interval.map((x) => points(x)).join(' to ')} points`
  const errors = Object.entries(r.errors).map(([code, n]) => `${code} ${n}`)
  const outcomes = Object.entries(g.outcomes).map(([move, n]) => `${move} ${n}`)
  const facts = [
    ['rewards', `${p.n} pairs: ${p.up} higher, ${p.down} lower, ${p.same} the same`],
    [
      'mean',
      `${shown(p.meanBefore)} before, ${shown(p.meanAfter)} after: ${p.difference === null ? unknown : points(p.difference)} points${interval}`,
    ],
    [
      'advantages',
      `other in ${g.changed} of ${g.compared} groups (${percent(g.compared === 0 ? undefined : g.changed / g.compared)})`,
    ],
    ['outcomes', outcomes.join(', ') || unknown],
    ['errors', errors.join(', ') || 'none'],
    [
      'latency',
      r.latency
        ? `mean ${rounded(r.latency.mean)} ms, median ${rounded(r.latency.p50)}, p95 ${rounded(r.latency.p95)}, most ${rounded(r.latency.max)}`
        : unknown,
    ],
  ]
  const lines = table([{ title: '' }, { title: '' }], facts)
  return `${r.rollouts} rollouts, judged again by ${by}\n\n${moves.join('\n')}\n\n${lines.join('\n')}\n`
}
