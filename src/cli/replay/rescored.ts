import { relative, resolve } from 'node:path'
import { CascadeError } from '../../../topics/index.ts'
import type { Context } from '../command.ts'
import { type OpenRun, runsFolder } from '../open-run.ts'
import { percent, points, rounded, unknown } from '../output/format.ts'
import { print } from '../output/print.ts'
import { table } from '../output/table.ts'
import { newRunId } from '../run/run-id.ts'
import { refuseExisting } from '../run-folder.ts'
import type { VerdictKind } from './filter.ts'
import type { PairedReport } from './paired.ts'
import { longWork } from './progress.ts'
import type { Range } from './range.ts'
import { extentOf, rescore } from './rescore.ts'
import { verifierOf } from './verifier-of.ts'

export interface RescoredFlags {
  readonly verifier?: string
  readonly options?: unknown
  readonly config?: string
  readonly dir?: string
  readonly apply?: true
  readonly json?: true
}

/**
 * Judges a range again into a run of its own, or says what that would do. The exit code is 1 where every verdict was an error.
 *
 * @throws what {@link verifierOf}, {@link extentOf} and {@link rescore} throw
 */
export async function rescored(
  open: OpenRun,
  range: Range,
  flags: RescoredFlags,
  context: Context,
): Promise<void> {
  const { stdout, stderr, cwd, signal } = context
  if (flags.verifier === undefined) {
    throw new CascadeError('USAGE', '--verifier: expected the name or the file of a verifier, got none')
  }
  await using opened = await verifierOf({ ...flags, verifier: flags.verifier }, open, context)
  const { verifier } = opened
  const runs = resolve(cwd, runsFolder)
  const dir = flags.dir === undefined ? resolve(runs, newRunId(runs, new Date())) : resolve(cwd, flags.dir)
  await refuseExisting(dir)
  const extent = await extentOf(open.log, range, signal)
  const { rollouts, groups } = extent
  const steps = extent.ends.length
  const { name, version, codeHash } = verifier
  const shown = relative(cwd, dir) || dir
  if (!flags.apply) {
    const lines = [
      `would read     ${range.topic.name}, offsets ${range.from} to ${range.to}: ${rollouts} rollouts, ${groups.size} groups, ${steps} steps`,
      `would judge    each by ${name}@${version}`,
      `would write    ${shown}, a run of ${groups.size} prompts, ${rollouts} rollouts and ${rollouts} rewards`,
      '',
      'This was a dry run: --apply does it.',
    ]
    const plan = {
      event: 'plan',
      rollouts,
      groups: groups.size,
      steps,
      verifier: { name, version, codeHash },
      writes: [dir],
    }
    return print(stdout, flags.json ? `${JSON.stringify(plan)}\n` : `${lines.join('\n')}\n`, signal)
  }
  let report: PairedReport
  {
    using work = longWork(stderr)
    report = await rescore(open, range, extent, { dir, verifier, signal, work })
  }
  const text = flags.json
    ? `${JSON.stringify({ event: 'report', dir, verifier: { name, version, codeHash }, ...report })}\n`
    : `${human(report, `${name}@${version}`)}\nrun: ${shown}\n`
  await print(stdout, text, signal)
  if (report.after.error === report.rollouts) context.exitWith(1)
}

const kinds: readonly VerdictKind[] = ['score', 'unparsable', 'error', 'none']
const words: Readonly<Record<VerdictKind, string>> = {
  score: 'scored',
  unparsable: 'unparsable',
  error: 'error',
  none: 'not judged',
}

function human(r: PairedReport, by: string): string {
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
