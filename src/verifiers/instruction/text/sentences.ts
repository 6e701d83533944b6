import { abbreviations, commonWords } from './abbreviations.ts'

/** Marks that stand for themselves, wherever they touch a word. */
const mark = /[?!)";}\]*:@'({[]/
const token = /\.{2,}|-{2,}|[?!)";}\]*:@'({[]|(?:(?!\.{2,}|-{2,})[^?!)";}\]*:@'({[])+/g
const closing = /^["')\]}]+(?=\s|--|$)/

/**
 * Splits a text into sentences the way Punkt does for English: `.`, `?` and `!` end one before a space or
 * a mark, unless the period belongs to an abbreviation, an initial or a number that the text goes on behind.
 * Closing quotes and brackets stay with the sentence they close. One pass over the text.
 */
export function sentences(text: string): string[] {
  const chunks = [...text.matchAll(/\S+/g)]
  const found: string[] = []
  let start = 0
  for (let i = 0; i < chunks.length; i++) {
    const chunk = chunks[i]![0]
    const at = chunks[i]!.index
    const next = chunks[i + 1]
    const end = lastCandidate(chunk, next !== undefined)
    if (end < 0) continue
    const behind = end + 1 < chunk.length ? chunk[end + 1]! : next![0]
    if (!breaks(chunk.slice(0, end + 1), behind)) continue
    const rest = chunk.slice(end + 1)
    const close = closing.exec(rest)?.[0] ?? ''
    const stop = at + end + 1 + close.length
    // A chunk may open with the tail of an earlier break: never go back behind it.
    if (stop > start) found.push(text.slice(start, stop).trim())
    start = stop
  }
  const rest = text.slice(start).trim()
  if (rest !== '') found.push(rest)
  return found.filter((sentence) => sentence !== '')
}

/** Where the last mark stands at which a sentence might end inside the chunk, or -1. */
function lastCandidate(chunk: string, followed: boolean): number {
  for (let at = chunk.length - 1; at >= 0; at--) {
    const c = chunk[at]!
    if (c !== '.' && c !== '?' && c !== '!') continue
    if (at === chunk.length - 1 ? followed : mark.test(chunk[at + 1]!)) return at
  }
  return -1
}

/** Whether one of the tokens, seen together with the one behind it, ends a sentence. */
function breaks(chunk: string, behind: string): boolean {
  const tokens = chunk.match(token) ?? []
  const following = behind.match(token)?.[0] ?? behind
  return tokens.some((one, i) => endsSentence(one, tokens[i + 1] ?? following))
}

function endsSentence(one: string, next: string): boolean {
  if (one === '?' || one === '!') return true
  if (!one.endsWith('.')) return false
  const start = startOf(next)
  if (one.endsWith('..')) return start === 'sentence'
  const word = one.slice(0, -1).replace(/^[`#&,-]+/, '')
  if (/^\p{L}$/u.test(word)) return start === 'sentence' || (start === 'unknown' && !/^\p{Lu}/u.test(next))
  if (/^[.,]?\d[\d,.-]*$/.test(word)) return start !== 'inside'
  const lower = word.toLowerCase()
  if (!abbreviations.has(lower) && !abbreviations.has(lower.slice(lower.lastIndexOf('-') + 1))) return true
  return start === 'sentence'
}

/** What a token says about the place before it. */
function startOf(next: string): 'sentence' | 'inside' | 'unknown' {
  if (/^[;:,.!?]$/.test(next)) return 'inside'
  if (/^\p{Ll}/u.test(next)) return 'inside'
  const word = next.length > 2 ? next.replace(/[.,]$/, '') : next
  return /^\p{Lu}/u.test(word) && commonWords.has(word.toLowerCase()) ? 'sentence' : 'unknown'
}
