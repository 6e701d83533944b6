import { clockTime, percent, points, range, unknown } from '../output/format.ts'
import { spark } from '../output/spark.ts'
import { changeOf, totalSeconds } from './summary.ts'
import type { Report } from './types.ts'

/** The report as Markdown that any viewer shows. */
export function markdownReport(report: Report): string {
  const seconds = totalSeconds(report)
  const facts = [
    `status ${report.status}`,
    `seed ${report.seed}`,
    ...(report.deterministic ? ['deterministic'] : []),
    `Cascade ${report.version}`,
    `policy version ${report.policyVersion}`,
    ...(seconds === undefined ? [] : [`${clockTime(seconds * 1000)} from first to latest record`]),
  ]
  const parts = [`# Run ${report.run}`, `${facts.join(', ')}.`, '## Stages', stages(report)]
  if (Object.keys(report.matrix).length > 0)
    parts.push('## Score of every domain after every stage', matrix(report))
  const curves = rewards(report)
  if (curves) parts.push('## Mean reward of each step', curves)
  if (report.stages.some((s) => s.kind === 'rl')) parts.push('## What became of the rollouts', fates(report))
  return `${parts.join('\n\n')}\n`
}

function stages(report: Report): string {
  const title = ['stage', 'domain', 'steps', 'before', 'after', 'change', 'best', 'time', 'ended by']
  return grid(
    title,
    report.stages.map((s) => {
      const change = changeOf(s)
      const time = s.seconds === null ? unknown : clockTime(s.seconds * 1000)
      const moved = change === undefined ? unknown : points(change)
      const steps = `${s.steps} of ${s.planned}`
      return [
        s.name,
        s.domain,
        steps,
        percent(s.before),
        percent(s.after),
        moved,
        percent(s.best),
        time,
        s.reason ?? unknown,
      ]
    }),
  )
}

function matrix(report: Report): string {
  const cells = Object.entries(report.matrix).map(([stage, row]) => [
    stage,
    ...report.domains.map((domain) => {
      const interval = report.intervals[stage]?.[domain]
      return row[domain] === undefined || !interval ? unknown : `${percent(row[domain])} (${range(interval)})`
    }),
  ])
  const prompts = report.domains.map((d) => `${report.prompts[d]} ${d}`).join(', ')
  const note = `Greedy accuracy on held-out prompts (${prompts}); in brackets the 95 % Wilson interval.`
  return `${grid(['after', ...report.domains], cells)}\n\n${note}`
}

function rewards(report: Report): string | undefined {
  const lines = Object.entries(report.curves).flatMap(([stage, curve]) => {
    const values = curve.map((p) => p.reward).filter((r) => r !== null)
    if (values.length < 2) return []
    return [`${stage}: ${values[0]!.toFixed(3)} ${spark(values, 60)} ${values.at(-1)!.toFixed(3)}`]
  })
  return lines.length > 0 ? `\`\`\`text\n${lines.join('\n')}\n\`\`\`` : undefined
}

function fates(report: Report): string {
  const names = ['trained', 'skipped', 'dropped', 'error'] as const
  const rows = report.stages
    .filter((s) => s.kind === 'rl')
    .map((s) => [
      s.name,
      ...names.map((n) => String(report.fates[s.name]?.[n] ?? 0)),
      String(report.open[s.name] ?? 0),
    ])
  return grid(['stage', ...names, 'of the open step'], rows)
}

function grid(title: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((c) => c.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(title), line(title.map((_, i) => (i < 1 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
