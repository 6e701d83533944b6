import { limits, Unreadable } from './limits.ts'

/** `number`, `letters` (a run), `command` (with its backslash), `text` (the inside of `\text{}`), or a sign. */
export interface Token {
  kind: 'number' | 'letter' | 'command' | 'text' | 'sign'
  text: string
  /** Whether a space stands before it. */
  spaced: boolean
}

const pattern =
  /(\s*)(?:(\\text\s*\{[^{}]*\})|(\\[a-zA-Z]+|\\.)|(\d+(?:\.\d+)?|\.\d+)|([a-zA-Zα-ωΑ-Ω]+)|(\S))/gsy
/** Words that are functions without a backslash as well. */
export const functions = new Set(
  'sin cos tan sec csc cot arcsin arccos arctan sinh cosh tanh log ln lg exp sqrt max min gcd lcm deg'.split(
    ' ',
  ),
)
const greek = new Set(['pi', 'infty', 'alpha', 'beta', 'theta', 'inf'])
const units = new Set(
  (
    'cm mm km kg mg ft in inch inches meter meters metre metres mile miles hour hours minute minutes second seconds min ' +
    'sec day days week weeks month months year years dollar dollars cent cents unit units degree degrees mph kmh people ' +
    'feet foot yard yards pound pounds gram grams liter liters litre litres sq square cubic yuan euros euro points'
  ).split(' '),
)

/** Throws {@link Unreadable} for a text above the budget. Letter runs come as functions, words or single letters. */
export function lex(text: string): Token[] {
  if (text.length > limits.answer) throw new Unreadable('answer too long')
  const tokens: Token[] = []
  pattern.lastIndex = 0
  for (let m = pattern.exec(text); m; m = pattern.exec(text)) {
    const spaced = m[1] !== ''
    if (m[2]) word(tokens, m[2].slice(m[2].indexOf('{') + 1, -1).trim(), spaced)
    else if (m[3]) tokens.push({ kind: 'command', text: m[3], spaced })
    else if (m[4]) tokens.push({ kind: 'number', text: m[4], spaced })
    else if (m[5]) letters(tokens, m[5], spaced)
    else tokens.push({ kind: 'sign', text: m[6]!, spaced })
    if (tokens.length > limits.tokens) throw new Unreadable('too many signs')
  }
  return tokens
}

function letters(tokens: Token[], run: string, spaced: boolean): void {
  const lower = run.toLowerCase()
  const before = tokens.at(-1)
  if (run === 'and' || run === 'or') tokens.push({ kind: 'sign', text: ',', spaced })
  else if (functions.has(run) || greek.has(run)) tokens.push({ kind: 'command', text: `\\${run}`, spaced })
  else if (run.startsWith('or') && before !== undefined && !spaced && before.kind !== 'command') {
    tokens.push({ kind: 'sign', text: ',', spaced })
    if (run.length > 2) letters(tokens, run.slice(2), true)
  } else if (run.length > 1 && before?.kind === 'number' && units.has(lower))
    tokens.push({ kind: 'text', text: run, spaced })
  else if (run.length > 3) tokens.push({ kind: 'text', text: run, spaced })
  else
    for (const [i, c] of [...run].entries())
      tokens.push({ kind: 'letter', text: c, spaced: spaced && i === 0 })
}

function word(tokens: Token[], text: string, spaced: boolean): void {
  if (/^(?:and|or|,)+$/i.test(text)) tokens.push({ kind: 'sign', text: ',', spaced })
  else if (/\band\b|\bor\b/.test(text) && tokens.length > 0 && /\b(?:and|or)$/.test(text))
    tokens.push({ kind: 'sign', text: ',', spaced })
  else if (/^-?\d+(\.\d+)?$/.test(text)) tokens.push({ kind: 'number', text, spaced })
  else if (/^[A-Za-z]$/.test(text)) tokens.push({ kind: 'letter', text, spaced })
  else if (/^\([A-Za-z]\)$/.test(text)) tokens.push({ kind: 'letter', text: text[1]!, spaced })
  else if (functions.has(text)) tokens.push({ kind: 'command', text: `\\${text}`, spaced })
  else if (text !== '') tokens.push({ kind: 'text', text, spaced })
}
