import { clockTime, percent, points, range, unknown } from '../output/format.ts'
import { spark } from '../output/spark.ts'
import { cut, type Style } from '../output/style.ts'
import { table } from '../output/table.ts'
import { changeOf, totalSeconds } from './summary.ts'
import type { Report } from './types.ts'

/** The report for a terminal: stages, forgetting matrix with intervals, reward curves, fates. */
export function terminalReport(report: Report, options: { style: Style; columns: number }): string {
  const { style, columns } = options
  const title = (text: string) => style('bold', text)
  const blocks = [[head(report, style)], [title('Stages'), ...stageTable(report, style)]]
  if (Object.keys(report.matrix).length > 0)
    blocks.push([title(matrixTitle(report)), ...matrixTable(report, style)])
  const curves = rewardCurves(report, columns)
  if (curves.length > 0) blocks.push([title('Mean reward, first to last step'), ...curves])
  const fates = fateTable(report)
  if (fates.length > 1) blocks.push([title('Rollouts'), ...fates])
  return `${blocks.map((lines) => lines.join('\n')).join('\n\n')}\n`
}

function head(report: Report, style: Style): string {
  const status = {
    done: 'green',
    running: 'cyan',
    interrupted: 'yellow',
    imported: 'green',
    rescored: 'green',
  } as const
  const facts = [
    `seed ${report.seed}`,
    ...(report.deterministic ? ['deterministic'] : []),
    `cascade ${report.version}`,
  ]
  const seconds = totalSeconds(report)
  if (seconds !== undefined) facts.push(clockTime(seconds * 1000))
  return `${style('bold', report.run)} ${style(status[report.status], report.status)} · ${facts.join(' · ')}`
}

function stageTable(report: Report, style: Style): string[] {
  const columns = [
    { title: 'stage' },
    { title: 'domain' },
    ...['steps', 'before', 'after', 'change', 'best', 'time'].map((name) => ({
      title: name,
      align: 'right' as const,
    })),
  ]
  return table(
    columns,
    report.stages.map((s) => {
      const change = changeOf(s)
      const tone = change === undefined || change === 0 ? 'dim' : change > 0 ? 'green' : 'red'
      return [
        s.name,
        s.domain,
        `${s.steps}/${s.planned}`,
        percent(s.before),
        percent(s.after),
        style(tone, change === undefined ? unknown : points(change)),
        percent(s.best),
        s.seconds === null ? unknown : clockTime(s.seconds * 1000),
      ]
    }),
  )
}

function matrixTitle(report: Report): string {
  const counts = [...new Set(Object.values(report.prompts))]
  return `Held-out greedy accuracy after each stage, 95 % interval, ${counts.join(' or ')} prompts a domain`
}

function matrixTable(report: Report, style: Style): string[] {
  const own = new Map(report.stages.map((s) => [s.name, s.domain]))
  return table(
    [{ title: '' }, ...report.domains.map((d) => ({ title: d, align: 'right' as const }))],
    Object.entries(report.matrix).map(([stage, row]) => [
      stage,
      ...report.domains.map((domain) => {
        const interval = report.intervals[stage]?.[domain]
        if (row[domain] === undefined || !interval) return unknown
        const score = percent(row[domain])
        return `${own.get(stage) === domain ? style('bold', score) : score} ${style('dim', `(${range(interval)})`)}`
      }),
    ]),
  )
}

function rewardCurves(report: Report, columns: number): string[] {
  const rows: string[][] = []
  for (const [stage, curve] of Object.entries(report.curves)) {
    const rewards = curve.map((p) => p.reward).filter((r) => r !== null)
    if (rewards.length < 2) continue
    const line = spark(rewards, Math.min(60, Math.max(8, columns - 34)))
    rows.push([cut(stage, 16), rewards[0]!.toFixed(3), line, rewards.at(-1)!.toFixed(3)])
  }
  return table([{ title: '' }, { title: '' }, { title: '' }, { title: '' }], rows)
}

function fateTable(report: Report): string[] {
  const names = ['trained', 'skipped', 'dropped', 'error'] as const
  const rl = report.stages.filter((s) => s.kind === 'rl' && s.status !== 'pending')
  return table(
    [{ title: 'stage' }, ...names.map((title) => ({ title, align: 'right' as const }))],
    rl.map((s) => [s.name, ...names.map((name) => String(report.fates[s.name]?.[name] ?? 0))]),
  )
}
