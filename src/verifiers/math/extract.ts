import { limits } from './limits.ts'

/** Where in a response an answer was found. */
export type Place = 'boxed' | 'marker' | 'sentence' | 'formula' | 'number' | 'whole'

export interface Found {
  text: string
  place: Place
}

/** Which kinds of notation may hold an answer; both by default. */
export type Notations = readonly ('latex' | 'expr')[]

const sentence = /(?:final answer(?: is)?|answer is|answer:|answer should be|(?:^|\n)\s*A:)\s*:?\s*(?=\S)/gi
const plainNumber =
  /(?<![\w.,])-?(?:[$€£]\s*)?-?(?:\d{1,3}(?:,\d{3})+|\d{1,3}(?: \d{3})+(?![\d])|\d+)?(?:[.,]\d+)?(?:\s*\/\s*-?\d+)?(?:\s*(?:%|\\%|percent\b|percentage\b|pct\b))?/g
const relation = /\b[a-zA-Z](?:\([a-z]\))?\s*(?:=|<|>|≤|≥|\\le|\\ge)\s*-?[\d.]+/g

/** The final answer of a worked response, the surest place first; undefined where it holds none. Linear in its length. */
export function extract(response: string, notations: Notations = ['latex', 'expr']): Found | undefined {
  const text = response.slice(-limits.tail)
  const boxed = lastBoxed(text)
  if (boxed && notations.includes('latex')) {
    // Who states a final answer behind the box takes the box back.
    const behind = text.slice(text.lastIndexOf('\\boxed'))
    const said = /final answer is/i.test(behind) ? lastSentence(behind, notations) : undefined
    return said ? { text: said, place: 'sentence' } : { text: boxed, place: 'boxed' }
  }
  const marker = text.lastIndexOf('####')
  if (marker >= 0) {
    const line = text
      .slice(marker + 4)
      .trim()
      .split('\n', 1)[0]!
      .trim()
    if (line !== '') return { text: line, place: 'marker' }
  }
  const said = lastSentence(text, notations)
  if (said) return { text: said, place: 'sentence' }
  const formula = notations.includes('latex') ? lastFormulas(text) : undefined
  const behind = formula && notations.includes('expr') ? behindFormulas(text) : undefined
  if (behind) return { text: behind, place: 'number' }
  if (formula) return { text: formula, place: 'formula' }
  const number = lastNumber(text)
  if (number) return { text: number, place: 'number' }
  return undefined
}

/** The insides of the last `\boxed`, with those before it that only punctuation, `and` or `or` separates. */
function lastBoxed(text: string): string | undefined {
  const found: string[] = []
  let end = text.length
  for (let i = 0; i < limits.items; i++) {
    const at = Math.max(text.lastIndexOf('\\boxed', end - 1), text.lastIndexOf('\\fbox', end - 1))
    if (at < 0 || end === 0) break
    const group = braces(text, at + (text.startsWith('\\boxed', at) ? 6 : 5))
    if (!group) {
      end = at
      continue
    }
    if (found.length > 0 && !joins(text.slice(group.end, end))) break
    const percent = /^[\s$]*(?:\\?%|percent\b|percentage\b|pct\b)/.test(text.slice(group.end, group.end + 20))
    found.unshift(percent && found.length === 0 ? `${group.inside}\\%` : group.inside)
    end = at
  }
  return found.length > 0 ? found.join(', ') : undefined
}

function joins(between: string): boolean {
  if (between.length > 120) return false
  const rest = between
    .replace(/\\(?:text|mbox)\s*\{[^{}]*\b(?:and|or)\b[^{}]*\}/g, '')
    .replace(/\\q?quad|\\[()[\]]|[a-zA-Z](?:_\{?\d+\}?)?\s*=/g, '')
    .replace(/\b(?:and|or)\b/g, '')
  return !/[a-zA-Z0-9\n]/.test(rest)
}

/** The inside of the braces that open at `from`, or one word where there are none. */
function braces(text: string, from: number): { inside: string; end: number } | undefined {
  let at = from
  while (text[at] === ' ') at++
  if (text[at] !== '{') {
    const word = /^[\w.]+/.exec(text.slice(at, at + 40))?.[0]
    return word === undefined ? undefined : { inside: word, end: at + word.length }
  }
  let depth = 0
  const limit = Math.min(text.length, at + limits.answer)
  for (let i = at; i < limit; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === '{') depth++
    else if (text[i] === '}' && --depth === 0) return { inside: text.slice(at + 1, i), end: i + 1 }
  }
  // A box that the text leaves open ends with it.
  return text.length - at < 200 ? { inside: text.slice(at + 1), end: text.length } : undefined
}

function lastSentence(text: string, notations: Notations): string | undefined {
  let from = -1
  for (const m of text.matchAll(sentence)) from = m.index + m[0].length
  if (from < 0) return undefined
  const rest = text.slice(from, from + limits.answer)
  const stop = /\n\s*\n|\.\s+(?=[A-Z])|\.\s*$|<\|/.exec(rest)?.index ?? rest.length
  const said = rest.slice(0, stop)
  if (notations.includes('latex')) {
    const formulas = lastFormulas(said)
    if (formulas) return behindFormulas(said) ?? formulas
  }
  const short = said.trim().replace(/^\**\s*|\s*\**$/g, '')
  if (
    /^[-+$\\\d([{.]/.test(short) &&
    short.length < 120 &&
    !/[a-z]{4,}/i.test(short.replace(/\\[a-z]+/g, ''))
  )
    return short
  if (/^\(?[A-J]\)?$/.test(short)) return short
  return lastNumber(said) ?? (short.length > 0 && short.length < 40 ? short : undefined)
}

/** A number in the prose behind the last formula. */
function behindFormulas(text: string): string | undefined {
  const end = Math.max(text.lastIndexOf('$'), text.lastIndexOf('\\]'), text.lastIndexOf('\\)'))
  return lastNumber(text.slice(end + (text[end] === '$' ? 1 : 2)))
}

const closing: Readonly<Record<string, string>> = { $$: '$$', '\\[': '\\]', '\\(': '\\)', $: '$' }

/** The last formula of a text, with those that `and`, `or` or a comma joins to it. */
function lastFormulas(text: string): string | undefined {
  const found: { inside: string; from: number; to: number }[] = []
  const opening = /\$\$|\\\[|\\\(|\\\$|\$/g
  for (let m = opening.exec(text); m; m = opening.exec(text)) {
    const close = closing[m[0]]
    if (!close) continue
    const from = m.index + m[0].length
    let end = text.indexOf(close, from)
    while (close === '$' && end > 0 && text[end - 1] === '\\') end = text.indexOf(close, end + 1)
    if (end < 0) break
    if (end > from && end - from < limits.answer)
      found.push({ inside: text.slice(from, end), from: m.index, to: end + close.length })
    opening.lastIndex = end + close.length
  }
  const last = found.pop()
  if (!last) return undefined
  let answer = last.inside
  const tail = /^\s*(?:\\?%|percent\b|percentage\b|pct\b)/.exec(text.slice(last.to, last.to + 20))
  if (tail) answer += '\\%'
  let start = last.from
  for (
    let before = found.pop();
    before && /^\s*(?:,|and|or|,\s*and|;)\s*$/.test(text.slice(before.to, start));
    before = found.pop()
  ) {
    answer = `${before.inside}, ${answer}`
    start = before.from
  }
  return answer
}

function lastNumber(text: string): string | undefined {
  const tail = text.slice(-4_096)
  let last: string | undefined
  let end = 0
  for (const m of tail.matchAll(plainNumber)) {
    if (!/\d/.test(m[0])) continue
    const after = tail[m.index + m[0].length] ?? ''
    const isWord =
      /[\w]/.test(after) &&
      !/^(?:[a-z]{1,2}[²³]?(?:\W|$))/.test(tail.slice(m.index + m[0].length, m.index + m[0].length + 4))
    if (isWord) continue
    last = m[0]
    end = m.index
  }
  if (last === undefined) return undefined
  const related = [...tail.slice(Math.max(0, end - 40)).matchAll(relation)].pop()
  if (related?.[0].endsWith(last.trim()) && /[<>≤≥]/.test(related[0])) return related[0]
  return last
}
