import { type Kinds, kind, phrase } from '../../kind.ts'
import { sentences } from '../../text/sentences.ts'
import { tokens } from '../../text/tokens.ts'
import { asciiMarks, isLower, isUpper, marksAndBlank, spaced, strip, withoutMarks } from '../../text/words.ts'

const pairs: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }

/** Brackets nested five deep of which the innermost closes; one that does not match starts the count anew. */
function nestedBrackets(text: string): boolean {
  let open: string[] = []
  let deepest = 0
  for (const c of text) {
    if (c === '(' || c === '[' || c === '{') {
      open.push(c)
      deepest = Math.max(deepest, open.length)
    } else if (pairs[c] !== undefined) {
      if (open.pop() === pairs[c]) {
        if (deepest >= 5) return true
      } else {
        open = []
        deepest = 0
      }
    }
  }
  return false
}

/** Single quotes within double ones and the other way round, three deep and closed again. */
function nestedQuotes(text: string): boolean {
  const open: string[] = []
  let deepest = 0
  for (const c of text) {
    if (c !== '"' && c !== "'") continue
    if (open.at(-1) === c) {
      open.pop()
      if (deepest - open.length >= 3) return true
    } else {
      open.push(c)
      deepest = Math.max(deepest, open.length)
    }
  }
  return false
}

/** Options that are letters need their exact form, others only the words. */
function oneOf(text: string, options: string): boolean {
  const separator = options.includes('/') ? '/' : options.includes('or') ? 'or' : ','
  const list = options.split(separator).map((option) => option.trim())
  if (/^[^\p{L}\p{N}_]*a[^\p{L}\p{N}_]*b[^\p{L}\p{N}_]*c/iu.test(options)) return list.includes(text)
  const plain = (one: string): string => strip(one, marksAndBlank).toLowerCase()
  return list.some((option) => plain(option) === plain(text))
}

const emoji = /\p{Extended_Pictographic}|\p{Regional_Indicator}|\p{Emoji_Modifier}/u

/** An emoji ends each sentence or opens the next. A variation selector may stand behind it. */
function emojiEnds(text: string): boolean {
  const parts = sentences(text).map((sentence) => [...withoutMarks(sentence).trim()])
  return parts.every((part, i) => {
    if (part.length === 0) return false
    return emoji.test(part.slice(-2).join('')) || emoji.test(parts[i + 1]?.[0] ?? '')
  })
}

function stairs(text: string): boolean {
  const indents = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => line.length - line.replace(/^ +/, '').length)
  return indents.every((indent, i) => i === 0 || indent > indents[i - 1]!)
}

const digitsAndMarks: ReadonlySet<string> = new Set([...'0123456789', ...asciiMarks.replace('"', '')])

/** No quoted phrase touches the next or ends the text; a quoted quote mark is none. */
function quotesExplained(text: string): boolean {
  const packed = text.replace(/[“”]/g, '"').replaceAll(`'"'`, '').replace(/\s+/g, '')
  return !packed.includes('""') && !strip(packed, digitsAndMarks).endsWith('"')
}

/** HTML italics that hold text and have text behind them. */
function thesis(text: string): boolean {
  const from = /<i>/.test(text) ? text.indexOf('<i>') : text.indexOf('<em>')
  if (from < 0) return false
  const rest = text.slice(from)
  const end = rest.includes('</i>') ? rest.indexOf('</i>') : rest.indexOf('</em>')
  if (end < 0) return false
  return rest.slice(3, end).trim() !== '' && rest.slice(end + 4).trim() !== ''
}

/** Two sentences or more, empty lines among them allowed, then nothing but two bullets or more. */
function sentencesThenBullets(text: string): boolean {
  let written = 0
  let bullets = 0
  for (const line of text
    .trim()
    .split('\n')
    .map((one) => one.trim())) {
    if (line.startsWith('*')) {
      if (written < 2) return false
      bullets++
    } else {
      if (bullets > 0) return false
      written += sentences(line).length
    }
  }
  return bullets >= 2
}

function titleCase(word: string): boolean {
  const [first = '', ...rest] = word
  if (!/\p{L}/u.test(first) || !isLower(first)) return true
  const behind = rest.join('')
  return behind !== '' && !isUpper(behind) && !isLower(behind)
}

export const formats: Kinds = {
  'format:parentheses': kind({}, nestedBrackets),
  'format:quotes': kind({}, nestedQuotes),
  'format:options': kind({ options: phrase }, (text, asked) => oneOf(text, asked.options)),
  'format:newline': kind({}, (text) => {
    const plain = withoutMarks(text).trim()
    return plain.split('\n').filter((line) => line !== '').length === spaced(plain).length
  }),
  'format:emoji': kind({}, emojiEnds),
  'format:line_indent': kind({}, stairs),
  'format:quote_unquote': kind({}, quotesExplained),
  'format:list': kind({ sep: phrase }, (text, asked) => text.split(asked.sep).length > 2),
  'format:thesis': kind({}, thesis),
  /** Behind every `*` a `-` before the next; a text without `*` passes, as in the published verdicts. */
  'format:sub-bullets': kind({}, (text) =>
    text
      .split('*')
      .slice(1)
      .every((bullet) => bullet.includes('-')),
  ),
  'format:no_bullets_bullets': kind({}, sentencesThenBullets),
  'format:title_case': kind({}, (text) => tokens(text).every(titleCase)),
  'format:output_template': kind({}, (text) =>
    ['My Answer:', 'My Conclusion:', 'Future Outlook:'].every((part) => text.includes(part)),
  ),
  'format:no_whitespace': kind({}, (text) => !/\s/.test(text)),
}
