import { buckets } from '../output/spark.ts'
import { movingMean } from './summary.ts'

export interface Chart {
  readonly title: string
  /** x is a step, y its value; x rises. */
  readonly points: readonly { readonly x: number; readonly y: number }[]
  /** Lowest and highest y to show at least. */
  readonly include?: readonly [number, number]
}

const size = { width: 260, height: 170, left: 48, right: 12, top: 12, bottom: 28 }
/** More points than pixels only cost bytes. */
const maxPoints = 400

/** A curve as inline SVG without a script: each step thin, a moving mean bold, colours from the page's style. */
export function lineChart({ title, points, include }: Chart): string {
  const n = Math.min(maxPoints, points.length)
  const x = buckets(
    points.map((p) => p.x),
    n,
  )
  const y = buckets(
    points.map((p) => p.y),
    n,
  )
  const window = Math.max(3, Math.round(n / 15))
  const mean = movingMean(y, window)
  const [low, high] = [Math.min(...y, include?.[0] ?? y[0]!), Math.max(...y, include?.[1] ?? y[0]!)]
  const magnitude = Math.max(Math.abs(low), Math.abs(high))
  // A spread that ticks could not tell apart is drawn as none.
  const flat = high - low <= Math.max(magnitude * 1e-9, 1e-300)
  const ticks = niceTicks(low, flat ? low + Math.max(magnitude, 1) * 0.1 : high, 4)
  const [bottom, top] = [ticks[0]!, ticks.at(-1)!]
  const [first, last] = [x[0]!, x.at(-1)!]
  const px = (v: number) =>
    size.left + ((v - first) / (last - first || 1)) * (size.width - size.left - size.right)
  const py = (v: number) =>
    size.height - size.bottom - ((v - bottom) / (top - bottom)) * (size.height - size.top - size.bottom)
  const path = (values: readonly number[]) =>
    values.map((v, i) => `${i === 0 ? 'M' : 'L'}${px(x[i]!).toFixed(1)} ${py(v).toFixed(1)}`).join('')
  const grid = ticks.map((t) => {
    const at = py(t).toFixed(1)
    const line = `<line class="grid" x1="${size.left}" x2="${size.width - size.right}" y1="${at}" y2="${at}"/>`
    return `${line}<text x="${size.left - 6}" y="${at}" dy=".32em" text-anchor="end">${tickLabel(t, ticks)}</text>`
  })
  const steps = [...new Set([first, last].map(Math.round))].map((v, i) => {
    const anchor = i === 0 ? 'start' : 'end'
    return `<text x="${px(v).toFixed(1)}" y="${size.height - 8}" text-anchor="${anchor}">step ${v}</text>`
  })
  const summary = `${title}, step ${first} to ${last}: from ${mean[0]!.toPrecision(3)} to ${mean.at(-1)!.toPrecision(3)}`
  return [
    `<svg viewBox="0 0 ${size.width} ${size.height}" role="img"><title>${summary}</title>`,
    ...grid,
    ...steps,
    `<path class="each" d="${path(y)}"/>`,
    `<path class="mean" d="${path(mean)}"/>`,
    `<circle cx="${px(last).toFixed(1)}" cy="${py(mean.at(-1)!).toFixed(1)}" r="3.5"/>`,
    '</svg>',
  ].join('')
}

/** Round values that cover `[low, high]`, about `count` intervals of 1, 2, 2.5 or 5 times a power of ten. */
export function niceTicks(low: number, high: number, count: number): number[] {
  const raw = (high - low) / count
  const power = 10 ** Math.floor(Math.log10(raw))
  const step = power * ([1, 2, 2.5, 5, 10].find((m) => m * power >= raw * 0.999) ?? 10)
  const from = Math.floor(low / step + 1e-9)
  const to = Math.ceil(high / step - 1e-9)
  return Array.from({ length: to - from + 1 }, (_, i) => Number(((from + i) * step).toPrecision(12)))
}

function tickLabel(tick: number, ticks: readonly number[]): string {
  const step = ticks[1]! - ticks[0]!
  if (Math.max(...ticks.map(Math.abs)) >= 10_000) return tick === 0 ? '0' : tick.toExponential(1)
  if (step < 1e-4) return tick === 0 ? '0' : tick.toExponential(0)
  const decimals = step >= 1 && Number.isInteger(step) ? 0 : Math.min(5, 1 - Math.floor(Math.log10(step)))
  return tick
    .toFixed(decimals)
    .replace(/(\.\d*?)0+$/, '$1')
    .replace(/\.$/, '')
    .replace('-', '−')
}
