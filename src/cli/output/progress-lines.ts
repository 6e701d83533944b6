import { clockTime, percent, points, range, rounded } from './format.ts'
import type { Notice, View } from './progress-state.ts'
import { cut, type Style, width } from './style.ts'

const said = {
  pause: 'paused',
  resume: 'resumed',
  stop: 'stopping',
  'finish-stage': 'finishing the stage',
} as const

/** Text of progress: pure functions from what is known to lines. */

/** One or two lines for a terminal that is `columns` wide; none before the run has begun. */
export function liveLines(view: View, columns: number, style: Style): string[] {
  if (view.phase === 'done' || view.phase === 'ended') return []
  if (view.stage === undefined) return [style('dim', cut(phaseText(view), columns))]
  const head = `${view.index}/${view.count} ${view.stage}`
  const words = [`step ${view.step}/${view.steps}`]
  if (view.reward !== undefined) words.push(`reward ${view.reward.toFixed(3)}`)
  if (view.phase !== 'training') words.push(phaseText(view))
  const loss = lossOf(view).map((d) => d.text)
  const roomOf = (texts: readonly string[]) => columns - width([head, '', ...texts].join('  '))
  const shown = roomOf([...words, ...loss]) >= 6 ? [...words, ...loss] : words
  const room = roomOf(shown)
  const first =
    room >= 6
      ? [style('bold', head), bar(view.step / (view.steps || 1), Math.min(room, 30), style), ...shown].join(
          '  ',
        )
      : cut([head, ...words].join(' '), columns)
  const details = fitting(detailsOf(view), columns - 2, ' · ')
  return details ? [first, style('dim', `  ${details}`)] : [first]
}

/** The same in one line for a log file. */
export function plainLine(view: View): string {
  if (view.stage === undefined) return phaseText(view)
  const words = [`step ${view.step}/${view.steps}`]
  if (view.reward !== undefined) words.push(`reward ${view.reward.toFixed(3)}`)
  if (view.phase !== 'training') words.push(phaseText(view))
  words.push(...[...detailsOf(view), ...lossOf(view)].map((d) => d.text))
  return `[${view.index}/${view.count} ${view.stage}] ${words.join(', ')}`
}

/** Permanent lines of a moment; none for those that the live lines show anyway. */
export function noticeLines(
  notice: Notice,
  baseline: readonly { domain: string; score: number }[],
  style: Style,
): string[] {
  switch (notice.event) {
    case 'run-begin':
      return [`${style('bold', notice.run)}  seed ${notice.seed}  ${notice.stages.join(' → ')}`]
    case 'stage-begin': {
      if (notice.index !== 1 || baseline.length === 0) return []
      const scores = baseline.map((s) => `${s.domain} ${percent(s.score)}`).join(', ')
      return [style('dim', `  before training: ${scores}`)]
    }
    case 'stage-end': {
      const name = style('bold', notice.stage)
      const why = notice.reason === 'steps' ? '' : style('yellow', `, ended by ${notice.reason}`)
      const head = `${style('green', '✓')} ${name}  ${notice.steps} steps in ${clockTime(notice.seconds * 1000)}${why}`
      return [head, ...notice.scores.map((s) => movedLine(s, style))]
    }
    case 'no-update':
      return [
        style('yellow', `  ${notice.stage}: step ${notice.step} closed without an update: ${notice.reason}`),
      ]
    case 'command':
      if (notice.refused !== null) return [`  ${notice.command} refused: ${notice.refused}`]
      return [`  ${said[notice.command]} on command`]
    case 'set': {
      const { stage, field, value, step, refused } = notice
      const asked = `${stage}.${field}=${value}`
      return [refused === null ? `  ${asked} from step ${step} on` : `  ${asked} refused: ${refused}`]
    }
    case 'verifier':
      return [`  ${verifierText(notice)}`]
    case 'run-end': {
      const time = notice.seconds === null ? '' : ` in ${clockTime(notice.seconds * 1000)}`
      return [`${style('green', '✓')} ${style('bold', 'done')}${time}`]
    }
    default:
      return []
  }
}

const verifierWords = {
  stage: 'staged: judges beside the active version, without effect',
  promote: 'promoted: judges every group from now on',
  rollback: 'rolled back: the version before it judges again',
  withdraw: 'withdrawn',
} as const

function verifierText(n: Extract<Notice, { event: 'verifier' }>): string {
  const head = `verifier ${n.verifier}${n.version === null ? '' : ` ${n.version}`}`
  const why = n.reason === null ? '' : ` (${n.reason})`
  if (n.refused !== null) return `${head}: ${n.action} refused: ${n.refused}`
  if (n.rule) return `${head}: will be promoted after ${n.rule.after} rollouts if it agrees${why}`
  return `${head} ${verifierWords[n.action]}${why}`
}

function movedLine(s: Extract<Notice, { event: 'stage-end' }>['scores'][number], style: Style): string {
  const change = s.before === null ? undefined : s.after - s.before
  const tone = change === undefined || Math.abs(change) < 0.0005 ? 'dim' : change > 0 ? 'green' : 'red'
  const moved = change === undefined ? '' : `  ${style(tone, points(change))}`
  const from = s.before === null ? '' : `${percent(s.before)} → `
  const text = `${from}${percent(s.after)}`
  const domain = s.own ? style('bold', s.domain) : s.domain
  return `  ${domain}  ${text} ${style('dim', `(${range(s.interval)})`)}${moved}`
}

function phaseText(view: View): string {
  if (view.phase === 'evaluating')
    return view.stage === undefined ? 'evaluating the untrained model' : 'evaluating'
  return view.phase === 'training' ? 'training' : view.phase
}

interface Detail {
  readonly text: string
  /** What goes first where there is no room: the highest. */
  readonly rank: number
}

function known<T>(value: T | undefined, rank: number, text: (value: T) => string): Detail[] {
  return value === undefined ? [] : [{ rank, text: text(value) }]
}

function lossOf(view: View): Detail[] {
  return [
    ...known(view.loss, 5, (n) => `loss ${n.toFixed(4)}`),
    ...known(view.mismatch, 6, (n) => `sampling mismatch ${n.toFixed(4)} nats/token`),
  ]
}

/** Facts in the order they are shown. */
function detailsOf(view: View): Detail[] {
  return [
    ...known(view.tokensPerSecond, 2, (n) => `${rounded(Math.round(n))} tokens/s`),
    ...known(view.rolloutsPerSecond, 4, (n) => `${rounded(n >= 10 ? Math.round(n) : n)} rollouts/s`),
    ...known(view.stageLeft, 1, (ms) => `stage ${clockTime(ms)} left`),
    ...known(view.runLeft, 3, (ms) => `run ${clockTime(ms)} left`),
  ]
}

function fitting(details: readonly Detail[], columns: number, between: string): string {
  let kept = [...details]
  const text = () => kept.map((d) => d.text).join(between)
  while (kept.length > 0 && width(text()) > columns) {
    const last = Math.max(...kept.map((d) => d.rank))
    kept = kept.filter((d) => d.rank !== last)
  }
  return text()
}

function bar(share: number, columns: number, style: Style): string {
  const full = Math.round(Math.min(1, Math.max(0, share)) * columns)
  return style('cyan', '━'.repeat(full)) + style('dim', '╌'.repeat(columns - full))
}
