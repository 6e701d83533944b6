/** Numbers as people read them. Every function is total: what is unknown is a dash. */

export const unknown = '–'

/** Milliseconds as `0:07`, `12:40` or `3:02:11`. */
export function clockTime(ms: number | undefined): string {
  if (ms === undefined || !Number.isFinite(ms)) return unknown
  const seconds = Math.max(0, Math.round(ms / 1000))
  const [h, m, s] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
  return h > 0 ? `${h}:${two(m)}:${two(s)}` : `${m}:${two(s)}`
}

/** A share from 0 to 1 as `63.3 %`. */
export function percent(share: number | undefined | null): string {
  return share === undefined || share === null ? unknown : `${(share * 100).toFixed(1)} %`
}

/** A difference of shares in points: `+22.3`. */
export function points(difference: number): string {
  const text = (Math.abs(difference) * 100).toFixed(1)
  return text === '0.0' ? '±0.0' : `${difference < 0 ? '−' : '+'}${text}`
}

/** `57.2–69.0` for a pair of shares. */
export function range(pair: readonly [number, number]): string {
  return `${(pair[0] * 100).toFixed(1)}–${(pair[1] * 100).toFixed(1)}`
}

/** Three significant digits, with k, M or G. */
export function rounded(n: number | undefined): string {
  if (n === undefined || !Number.isFinite(n)) return unknown
  for (const [limit, suffix] of [
    [1e9, 'G'],
    [1e6, 'M'],
    [1e4, 'k'],
  ] as const) {
    if (Math.abs(n) >= limit) return `${digits(n / (suffix === 'k' ? 1e3 : limit))}${suffix}`
  }
  return digits(n)
}

/** Bytes in binary units: `12.3 MiB`. */
export function byteSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let at = 0
  let n = bytes
  while (n >= 1024 && at < units.length - 1) {
    n /= 1024
    at++
  }
  return `${at === 0 ? n : n.toFixed(1)} ${units[at]}`
}

function digits(n: number): string {
  const abs = Math.abs(n)
  if (abs >= 100 || Number.isInteger(n)) return n.toFixed(0)
  if (abs >= 10) return n.toFixed(1)
  return abs >= 0.01 || abs === 0 ? n.toFixed(abs >= 1 ? 2 : 3) : n.toExponential(1)
}

function two(n: number): string {
  return String(n).padStart(2, '0')
}
