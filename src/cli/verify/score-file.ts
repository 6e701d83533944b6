import type { Verdict } from '../../../streams/ports.ts'
import { CascadeError } from '../../../topics/index.ts'
import { linesOf } from '../../lines.ts'
import type { Judged } from '../../verifiers/pool/index.ts'

/** One line of a file of verdicts. */
export interface VerdictLine {
  id: string
  outcome: 'score' | 'unparsable' | 'error'
  /** Null where the outcome is an error: an error is no score. */
  score: number | null
  /** Of an error. */
  code?: string
  detail: unknown
  verifier: string
  version: string
  /** Milliseconds in the verifier. */
  ms: number
}

/** A case as it stands in its file. */
interface Line {
  number: number
  id: string
  value: unknown
}

/** @throws CascadeError USAGE naming the file, and the line where one is no JSON object with an `id` */
export async function* readCases(file: string): AsyncGenerator<Line> {
  for await (const { text, number } of linesOf(file)) {
    yield { number, ...caseOf(text, `${file}:${number}`) }
  }
}

function caseOf(text: string, where: string): { id: string; value: unknown } {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new CascadeError(
      'USAGE',
      `${where}: expected a JSON object, got ${JSON.stringify(text.slice(0, 60))}`,
      { cause },
    )
  }
  const id = typeof value === 'object' && value !== null && 'id' in value ? value.id : undefined
  if (typeof id !== 'string') {
    throw new CascadeError('USAGE', `${where}: id: expected a string, got ${JSON.stringify(id) ?? 'nothing'}`)
  }
  return { id, value }
}

/**
 * Verdicts of cases in the order of the cases, with at most `window` of them under way.
 *
 * @throws what the cases throw; the signal's reason
 */
export async function* scoreCases(
  cases: AsyncIterable<Line>,
  submit: (value: unknown, signal: AbortSignal) => Promise<Judged>,
  { window, signal, name, version }: { window: number; signal: AbortSignal; name: string; version: string },
): AsyncGenerator<VerdictLine> {
  const underWay: { id: string; judged: Promise<Judged> }[] = []
  const next = async (): Promise<VerdictLine> => {
    const { id, judged } = underWay.shift()!
    return lineOf(id, await judged, name, version)
  }
  for await (const { id, value } of cases) {
    const judged = submit(value, signal)
    // Awaited in its turn; until then a rejection is not unhandled.
    judged.catch(() => undefined)
    underWay.push({ id, judged })
    if (underWay.length >= window) yield await next()
  }
  while (underWay.length > 0) yield await next()
}

function lineOf(id: string, { verdict, ms }: Judged, verifier: string, version: string): VerdictLine {
  const rounded = Math.round(ms * 1000) / 1000
  const common = { verifier, version, ms: rounded }
  return verdict.outcome === 'failed'
    ? { id, outcome: 'error', score: null, code: verdict.code, detail: verdict.message, ...common }
    : { id, outcome: verdict.outcome, score: verdict.score, detail: detailOf(verdict), ...common }
}

function detailOf(verdict: Exclude<Verdict, { outcome: 'failed' }>): unknown {
  return verdict.detail ?? null
}
