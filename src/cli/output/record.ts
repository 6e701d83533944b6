import type { Envelope } from '../../../streams/ports.ts'
import { cut } from './style.ts'

/**
 * A record as one JSON line: `{offset, timestamp, key, headers, value}`. Typed arrays are plain ones, numbers that JSON
 * lacks are null, and integers beyond 2^53 are strings.
 */
export function recordJson({ offset, timestamp, key, headers, value }: Envelope<unknown>): string {
  return JSON.stringify({ offset, timestamp, key, headers, value }, plain)
}

/** What the reader of a topic wants to see first; the other fields follow as they are stored. */
const leading: Readonly<Record<string, readonly string[]>> = {
  prompts: ['stage', 'step', 'admission', 'visit', 'policyVersion', 'promptText'],
  rollouts: ['stage', 'step', 'admission', 'index', 'finishReason', 'responseText'],
  rewards: ['stage', 'step', 'admission', 'index', 'kind', 'score', 'reason'],
  advantages: ['stage', 'step', 'admission', 'outcome', 'reason', 'baseline'],
  control: ['type', 'stage', 'step', 'version', 'command', 'reason', 'counts'],
  demonstrations: ['stage', 'step', 'admission', 'domain', 'promptId'],
  'gradient-batches': ['stage', 'step', 'kind', 'version', 'checkpoint', 'stats'],
  updates: ['stage', 'step', 'version', 'loss', 'gradNorm', 'entropy', 'stats'],
  checkpoints: ['stage', 'step', 'version', 'reason', 'id'],
  evaluations: ['stage', 'domain', 'score', 'passed', 'n', 'interval'],
  dlq: ['operator', 'code', 'message', 'sourceOffset', 'attempts'],
}

/** A record as one readable line: offset, time, then its fields, cut to `columns`. */
export function recordLine({ topic, offset, timestamp, value }: Envelope<unknown>, columns: number): string {
  const family = topic.endsWith('.dlq') ? 'dlq' : topic.replace(/\..*/, '')
  const fields = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : { value }
  const first = leading[family] ?? []
  const names = [
    ...first.filter((n) => n in fields),
    ...Object.keys(fields).filter((n) => !first.includes(n)),
  ]
  const shown = names.flatMap((n) => (fields[n] === undefined ? [] : [`${n}=${brief(fields[n])}`]))
  const time = new Date(timestamp).toISOString().slice(11, 23)
  return cut(`${String(offset).padStart(6)}  ${time}  ${shown.join(' ')}`, columns)
}

function brief(value: unknown): string {
  if (typeof value === 'string')
    return /^[\w./:<>-]+$/.test(value) ? cut(value, 40) : cut(JSON.stringify(value), 42)
  if (typeof value === 'number')
    return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)))
  if (typeof value !== 'object' || value === null) return String(value)
  if (ArrayBuffer.isView(value)) return `[${(value as Uint8Array).length}]`
  if (Array.isArray(value)) {
    const scalars = value.length <= 4 && value.every((v) => typeof v !== 'object')
    return scalars ? `[${value.map(brief).join(',')}]` : `[${value.length}]`
  }
  return `{${Object.entries(value)
    .map(([k, v]) => `${k}:${brief(v)}`)
    .join(' ')}}`
}

/** Reads the property from its holder: a Buffer's own toJSON has already replaced `value`. */
function plain(this: Record<string, unknown>, key: string, value: unknown): unknown {
  const held = this[key]
  if (ArrayBuffer.isView(held)) return Array.from(held as Uint8Array)
  if (typeof held === 'bigint') {
    const number = Number(held)
    return Number.isSafeInteger(number) ? number : String(held)
  }
  return value
}
