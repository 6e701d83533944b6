import type { Node } from './ast.ts'
import { clean, plain } from './clean.ts'
import { type CompareOptions, type Comparison, compare } from './compare.ts'
import { extract, type Found, type Notations } from './extract.ts'
import { limits, Unreadable } from './limits.ts'
import { parse } from './parser.ts'
import * as q from './rational.ts'

export interface MathOptions extends CompareOptions {
  /** The response is the answer's expression and nothing else; default false. */
  bare?: boolean
  /** Notations in which an answer is looked for; default both. */
  notations?: Notations
}

/** What came of a response: its answer and the comparison, or that it has none. */
export type Judgement =
  | { answer?: undefined; comparison?: undefined; gold: string }
  | { answer: string; place: Found['place']; gold: string; comparison: Comparison }

const delimiters = /\$|(?<!\\)\\[[\]()]/g
const number = /^-?(?:\d+(?:\.\d+)?|\.\d+)$/
const grouped = /^-?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?$/

/**
 * Judges a response against the gold answer, which may be an expression or a worked solution.
 *
 * @throws Unreadable where the gold holds no answer
 */
export function judgeMath(response: string, gold: string, options: MathOptions = {}): Judgement {
  const truth = goldAnswer(gold, options)
  if (response.length <= 400 && !number.test(truth) && sameText(response, truth))
    return { answer: response, place: 'whole', gold: truth, comparison: { equal: true, how: 'text' } }
  const found = options.bare ? whole(response) : answerOf(response, options)
  if (!found) return { gold: truth }
  const comparison = plainNumbers(truth, found.text) ?? expressions(truth, found.text, options)
  return { answer: found.text, place: found.place, gold: truth, comparison }
}

/** The gold itself, with or without dollars: equal also where neither is mathematics. */
function sameText(response: string, truth: string): boolean {
  const text = (s: string): string => plain(clean(s.replace(delimiters, ' ')))
  return response.trim() !== '' && (response === truth || text(response) === text(truth))
}

function whole(text: string): Found | undefined {
  return unwrapped(text) ?? (text.trim() === '' ? undefined : { text: text.trim(), place: 'whole' })
}

/** A text that is nothing but one answer is that answer, however it is wrapped. */
function unwrapped(text: string): Found | undefined {
  if (text.length > limits.answer || !/\\f?boxe?d?|\$|\\[[(]/.test(text)) return undefined
  return /^\s*(?:\$|\\[[(]|\\f?boxe?d?)/.test(text) ? extract(text, ['latex']) : undefined
}

/** Words that no expression has: `So we get 5.` is a sentence, `x = 5 or y` may be none. */
const prose =
  /[a-zA-Z]{3,} [a-zA-Z]{2,}|\b(?:so|we|is|are|it|get|gets|gives|thus|hence|then|the|that|this)\b/i

function answerOf(response: string, { notations }: MathOptions): Found | undefined {
  const text = response.trim()
  if (text.length < 40 && number.test(text)) return { text, place: 'whole' }
  const found = extract(response, notations)
  const surest = found && (found.place === 'boxed' || found.place === 'marker' || found.place === 'formula')
  if (surest || text === '' || text.includes('\n') || text.length > 400 || prose.test(text)) return found
  // A short text without prose: the whole of it is the answer.
  if (/^[A-Z0-9]{4,}$/.test(text) && !number.test(text)) return found
  return readable(text) ? { text, place: 'whole' } : found
}

function goldAnswer(gold: string, options: MathOptions): string {
  const trimmed = gold.trim()
  // Formulas with words between or behind them are one answer: `$f(x)=a x$, where $a>0$`.
  const formulas = /^(?:\$|\\[[(])/.test(trimmed) && trimmed.length <= 200 && !trimmed.includes('boxed')
  const text = formulas ? trimmed.replace(delimiters, ' ').trim() : trimmed
  if (text === '') throw new Unreadable('empty')
  const found = text.includes('####') || /\\f?boxed|\$|\\[[(]/.test(text) ? extract(text) : undefined
  const stated = text.length > 200 && !found ? extract(text, options.notations) : found
  const answer = stated?.text ?? text
  if (answer.length > limits.answer) throw new Unreadable(`expected at most ${limits.answer} characters`)
  if (!balanced(answer)) throw new Unreadable('braces do not match')
  return answer
}

function balanced(text: string): boolean {
  let depth = 0
  for (const c of text.replace(/\\[{}]/g, '')) {
    if (c === '{') depth++
    else if (c === '}' && --depth < 0) return false
  }
  return depth === 0
}

/** Numbers as they stand, the most frequent answers by far, without any parsing. */
function plainNumbers(gold: string, answer: string): Comparison | undefined {
  const [a, b] = [bareNumber(gold), bareNumber(answer)]
  if (a === undefined || b === undefined || a.length > 400 || b.length > 400) return undefined
  if (a === b) return { equal: true, how: 'exact' }
  if (Math.max(a.length, b.length) > 16) return undefined
  return { equal: q.same(q.decimal(a), q.decimal(b)), how: 'exact' }
}

function bareNumber(text: string): string | undefined {
  const trimmed = text.trim().replace(/^\\?\$\s*(?=[\d.])|\.$/g, '')
  if (number.test(trimmed)) return trimmed
  return grouped.test(trimmed) ? trimmed.replaceAll(',', '') : undefined
}

function expressions(gold: string, answer: string, options: MathOptions): Comparison {
  if (answer.length > limits.answer) return { equal: false, how: 'text' }
  const [a, b] = [clean(gold), clean(answer)]
  if (a === b || plain(a) === plain(b)) return { equal: true, how: 'text' }
  const letters = /^(?:\\text\s*\{[^{}]*\}|[A-Za-z]+|\([A-Za-z]\))$/
  if (letters.test(a) && letters.test(b)) return { equal: plain(a) === plain(b), how: 'text' }
  let result: Comparison = { equal: false, how: 'text' }
  for (const [x, y] of readings(a, b)) {
    const [left, right] = [read(x), read(y)]
    if (!left || !right) continue
    result = compare(left, right, options)
    if (result.equal) return result
  }
  return result
}

/** `1,22` may be a decimal where the other side is one number, else it is two numbers. */
function readings(a: string, b: string): (readonly [string, string])[] {
  const comma = /^-?\d+,\d+$/
  const pairs: (readonly [string, string])[] = [[a, b]]
  if (comma.test(a) && number.test(b)) pairs.push([a.replace(',', '.'), b])
  if (comma.test(b) && number.test(a)) pairs.push([a, b.replace(',', '.')])
  return pairs
}

function read(text: string): Node | undefined {
  try {
    return parse(text)
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

function readable(text: string): boolean {
  return read(clean(text)) !== undefined
}
