import { CascadeError } from '../../../topics/index.ts'
import { SuffixAutomaton } from './suffix-automaton.ts'

const defaultWork = 2e8

export interface SimilarityOptions {
  /** What is compared: code points, or lines without their ends. @default 'characters' */
  unit?: 'characters' | 'lines'
  /** Python's default: what makes up more than 1 % of a second sequence of 200 or more starts no match. @default false */
  autojunk?: boolean
  /** Symbols looked at before the comparison is given up: texts of many short matches take quadratic time. @default 2e8 */
  maxWork?: number
}

/**
 * `difflib.SequenceMatcher(None, a, b, autojunk).ratio()` of Python, the same number: twice the matched symbols over all symbols. The
 * longest common run is found by a suffix automaton in linear time, where difflib takes quadratic time; ties go to the first in `a`, then
 * the first in `b`, so the ratio depends on the order of its arguments. @throws `VERIFIER_FAILED` where `maxWork` is passed.
 */
export function ratio(a: string, b: string, options: SimilarityOptions = {}): number {
  const result = ratioWithin(a, b, options)
  if (result !== undefined) return result
  throw new CascadeError(
    'VERIFIER_FAILED',
    `similarity: expected at most ${options.maxWork ?? defaultWork} steps, got texts of ${a.length} and ${b.length} characters that need more`,
  )
}

/** {@link ratio}, or undefined where it takes more than `maxWork`. */
export function ratioWithin(a: string, b: string, options: SimilarityOptions = {}): number | undefined {
  const { unit = 'characters', autojunk = false, maxWork = defaultWork } = options
  if (a === b) return 1
  const [left, right, kinds] = encode(split(a, unit), split(b, unit))
  const sum = matched(left, right, autojunk ? popular(right, kinds) : undefined, maxWork)
  const total = left.length + right.length
  return sum === undefined ? undefined : total === 0 ? 1 : (2 * sum) / total
}

/** `SequenceMatcher(None, a, b).quick_ratio()`: an upper bound of {@link ratio} that ignores the order of symbols. */
export function quickRatio(a: string, b: string, unit: SimilarityOptions['unit'] = 'characters'): number {
  const [left, right, kinds] = encode(split(a, unit), split(b, unit))
  const total = left.length + right.length
  if (total === 0) return 1
  const available = new Int32Array(kinds)
  for (const symbol of right) available[symbol]! += 1
  let shared = 0
  for (const symbol of left) {
    if (symbol < 0 || available[symbol]! === 0) continue
    available[symbol]! -= 1
    shared += 1
  }
  return (2 * shared) / total
}

/** Symbols of all matching blocks; undefined where it takes more than `maxWork`. */
function matched(
  a: Int32Array,
  b: Int32Array,
  junk: Uint8Array | undefined,
  maxWork: number,
): number | undefined {
  const query = junk ? a.map((symbol) => (symbol >= 0 && junk[symbol] ? -1 : symbol)) : a
  const automaton = new SuffixAutomaton(b.length)
  const open: [number, number, number, number][] = [[0, a.length, 0, b.length]]
  let work = 0
  let sum = 0
  while (open.length > 0) {
    const [aLow, aHigh, bLow, bHigh] = open.pop()!
    work += aHigh - aLow + (bHigh - bLow)
    if (work > maxWork) return undefined
    automaton.build(b, bLow, bHigh)
    const run = automaton.longest(query, aLow, aHigh)
    let { size, a: aAt, b: bAt } = run
    if (size === 0 && !junk) continue
    if (size === 0) bAt = bLow
    // What is popular starts no match and still extends one, also the empty match at the start of both ranges.
    while (aAt > aLow && bAt > bLow && a[aAt - 1] === b[bAt - 1]) {
      aAt -= 1
      bAt -= 1
      size += 1
    }
    while (aAt + size < aHigh && bAt + size < bHigh && a[aAt + size] === b[bAt + size]) size += 1
    if (size === 0) continue
    sum += size
    if (aAt > aLow && bAt > bLow) open.push([aLow, aAt, bLow, bAt])
    if (aAt + size < aHigh && bAt + size < bHigh) open.push([aAt + size, aHigh, bAt + size, bHigh])
  }
  return sum
}

/** Which symbols `autojunk` takes out. */
function popular(b: Int32Array, kinds: number): Uint8Array | undefined {
  if (b.length < 200) return undefined
  const counts = new Int32Array(kinds)
  for (const symbol of b) counts[symbol]! += 1
  const most = Math.floor(b.length / 100) + 1
  return Uint8Array.from(counts, (count) => (count > most ? 1 : 0))
}

/** Numbers for the symbols of `b`; what only `a` holds is -1. */
function encode(a: Iterable<string>, b: Iterable<string>): [Int32Array, Int32Array, number] {
  const codes = new Map<string, number>()
  const right: number[] = []
  for (const symbol of b) {
    const code = codes.get(symbol) ?? codes.size
    codes.set(symbol, code)
    right.push(code)
  }
  const left: number[] = []
  for (const symbol of a) left.push(codes.get(symbol) ?? -1)
  return [Int32Array.from(left), Int32Array.from(right), codes.size]
}

function split(text: string, unit: SimilarityOptions['unit']): Iterable<string> {
  // A string iterates by code points, as Python's does.
  return unit === 'lines' ? lines(text) : text
}

const lineEnd = new RegExp(
  ['\r\n', '\n', '\r', '\v', '\f', '\x1c', '\x1d', '\x1e', '\x85', '\u2028', '\u2029'].join('|'),
)

/** `str.splitlines()` of Python: no empty last line behind a final line end. */
function lines(text: string): string[] {
  const cut = text.split(lineEnd)
  if (cut.at(-1) === '') cut.pop()
  return cut
}
