import { clockTime, percent, points, range, unknown } from '../output/format.ts'
import { css } from './html-style.ts'
import { changeOf, totalSeconds } from './summary.ts'
import { type Chart, lineChart } from './svg.ts'
import type { CurvePoint, Report, StageReport } from './types.ts'

/** The report as one HTML file that loads nothing and runs no script. */
export function htmlReport(report: Report): string {
  const run = escapeHtml(report.run)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Run ${run}</title>
<style>${css}</style>
</head>
<body>
<main>
<header>
<h1>Run ${run}</h1>
<p class="facts"><span class="status ${report.status}">${report.status}</span>${facts(report)}</p>
</header>
${cards(report)}
${matrix(report)}
${report.stages.map((s) => curves(s, report.curves[s.name] ?? [])).join('\n')}
${fates(report)}
</main>
</body>
</html>
`
}

function facts(report: Report): string {
  const seconds = totalSeconds(report)
  return [
    `seed ${report.seed}`,
    ...(report.deterministic ? ['deterministic'] : []),
    ...(seconds === undefined ? [] : [clockTime(seconds * 1000)]),
    `weights version ${report.policyVersion}`,
    `Cascade ${report.version}`,
    ...(report.startedAt === null ? [] : [`began ${report.startedAt.slice(0, 16).replace('T', ' ')} UTC`]),
  ]
    .map((fact) => `<span>${escapeHtml(fact)}</span>`)
    .join('')
}

function cards(report: Report): string {
  const each = report.stages.map((s) => {
    const change = changeOf(s)
    const tone = change === undefined || Math.abs(change) < 0.0005 ? '' : change > 0 ? ' up' : ' down'
    const time = s.seconds === null ? '' : ` in ${clockTime(s.seconds * 1000)}`
    const done = s.status === 'pending' ? 'not begun' : `${s.steps} of ${s.planned} steps${time}`
    const why = s.reason === null || s.reason === 'steps' ? '' : `, ended by ${escapeHtml(s.reason)}`
    const interval = s.afterInterval ? `95 % interval ${range(s.afterInterval)}` : '&nbsp;'
    return `<li class="card">
<h3>${escapeHtml(s.name)}</h3><p class="note">${escapeHtml(s.domain)}</p>
<p class="big">${percent(s.after)} <span class="change${tone}">${change === undefined ? '' : points(change)}</span></p>
<p class="note">before ${percent(s.before)}, best ${percent(s.best)}</p>
<p class="note">${interval}</p>
<p class="note">${done}${why}</p>
</li>`
  })
  return `<section><h2>Stages</h2><ol class="cards">${each.join('\n')}</ol></section>`
}

function matrix(report: Report): string {
  const rows = Object.entries(report.matrix)
  if (rows.length === 0) return ''
  const own = new Map(report.stages.map((s) => [s.name, s.domain]))
  const body = rows.map(([stage, row]) => {
    const cells = report.domains.map((domain) => {
      const score = row[domain]
      const interval = report.intervals[stage]?.[domain]
      if (score === undefined || !interval) return `<td>${unknown}</td>`
      const marks = own.get(stage) === domain ? 'heat own' : 'heat'
      const label = `<b>${percent(score)}</b><small>${range(interval)}</small>`
      return `<td class="${marks}" style="--v:${score.toFixed(3)}">${label}</td>`
    })
    return `<tr><th scope="row">${escapeHtml(stage)}</th>${cells.join('')}</tr>`
  })
  const domains = report.domains.map((d) => `<th scope="col">${escapeHtml(d)}</th>`).join('')
  const prompts = report.domains.map((d) => `${report.prompts[d]} ${escapeHtml(d)}`).join(', ')
  return `<section><h2>Score of every domain after every stage</h2>
<div class="wide"><table class="matrix"><thead><tr><th scope="col">after</th>${domains}</tr></thead>
<tbody>${body.join('\n')}</tbody></table></div>
<p class="note">Greedy accuracy on held-out prompts (${prompts}), with its 95 % Wilson interval in percent. Outlined: the domain that the stage trained.</p></section>`
}

function curves(stage: StageReport, curve: readonly CurvePoint[]): string {
  if (curve.length < 2) return ''
  const chart = (title: string, pick: (p: CurvePoint) => number | null, include?: Chart['include']) => {
    const series = curve.flatMap((p) => {
      const y = pick(p)
      return y === null ? [] : [{ x: p.step, y }]
    })
    if (series.length < 2) return ''
    const svg = lineChart({ title, points: series, ...(include ? { include } : {}) })
    return `<figure><figcaption>${title}</figcaption>${svg}</figure>`
  }
  const charts =
    stage.kind === 'rl'
      ? [
          chart('Mean reward', (p) => p.reward, [0, 0.01]),
          chart('Loss', (p) => p.loss),
          chart('Entropy of a token, nats', (p) => p.entropy, [0, 0.01]),
          chart('Response length, tokens', (p) => p.responseLength, [0, 1]),
        ]
      : [chart('Loss', (p) => p.loss, [0, 0.01]), chart('Gradient norm', (p) => p.gradNorm, [0, 0.01])]
  return `<section><h2>${escapeHtml(stage.name)}: curves</h2><div class="charts">${charts.join('\n')}</div>
<p class="note">Thin: each step. Bold: moving mean.</p></section>`
}

function fates(report: Report): string {
  const stages = report.stages.filter((s) => s.kind === 'rl')
  if (stages.length === 0) return ''
  const names = ['trained', 'skipped', 'dropped', 'error'] as const
  const rows = stages.map((s) => {
    const cells = names.map((n) => `<td>${report.fates[s.name]?.[n] ?? 0}</td>`).join('')
    return `<tr><th scope="row">${escapeHtml(s.name)}</th>${cells}</tr>`
  })
  const head = names.map((n) => `<th scope="col">${n}</th>`).join('')
  return `<section><h2>What became of the rollouts</h2>
<div class="wide"><table><thead><tr><th scope="col">stage</th>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>
<p class="note">Trained: with an advantage in an update. Skipped: in such a group, without weight. Dropped: in a group without signal, or of no step. Error: never scored.</p></section>`
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
