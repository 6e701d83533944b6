import { z } from 'zod'
import type { Verdict } from '../../streams/ports.ts'
import { badTruth, type RuleVerifier, ruleVerifier } from './judge.ts'

const mark = z.string().regex(/^[^A-Za-z]$/, 'expected one character that is no letter')
const word = z.string().regex(/^[a-z]+$/, 'expected lower-case letters')

/**
 * What a response was asked for. What is not asked for must be absent: no start word, words joined by one
 * space, lower case, no marks around or behind.
 */
export const wordingTruth = z.strictObject({
  word,
  /** How often the word is to be written. */
  count: z.int().min(1),
  /** A word to begin with. */
  start: word.optional(),
  /** The one mark between two words. */
  join: mark.optional(),
  case: z.enum(['upper', 'title']).optional(),
  /** The marks around everything. */
  wrap: z.tuple([mark, mark]).optional(),
  /** The last mark, inside {@link wrap}. */
  end: mark.optional(),
})
export type WordingTruth = z.infer<typeof wordingTruth>

/** The rules that a response met or broke, each checked on its own. */
export interface RuleResults {
  words: boolean
  start: boolean
  join: boolean
  case: boolean
  wrap: boolean
  end: boolean
}

interface Parts {
  /** Marks before the first word, between two words, and behind the last. */
  before: string
  words: string[]
  between: string[]
  behind: string
}

/** Cuts a text into its words (runs of letters) and the marks around them; undefined where it has no word. */
function cut(text: string): Parts | undefined {
  const words = text.match(/[A-Za-z]+/g)
  if (!words) return undefined
  const marks = text.split(/[A-Za-z]+/)
  return { before: marks[0]!, words, between: marks.slice(1, -1), behind: marks.at(-1)! }
}

/** Each rule's result, or undefined where the text holds no word at all. */
export function checkRules(text: string, asked: WordingTruth): RuleResults | undefined {
  const parts = cut(text)
  if (!parts) return undefined
  const { before, words, between, behind } = parts
  const lower = words.map((w) => w.toLowerCase())
  const [open, close] = asked.wrap ?? ['', '']
  const body = asked.start !== undefined && lower[0] === asked.start ? lower.slice(1) : lower
  const wrapped = before === open && behind.endsWith(close)
  const tail = behind.endsWith(close) ? behind.slice(0, behind.length - close.length) : behind
  return {
    words: body.length === asked.count && body.every((w) => w === asked.word),
    start: asked.start === undefined || lower[0] === asked.start,
    join: between.every((m) => m === (asked.join ?? ' ')),
    case: words.every((w) => w === inCase(w, asked.case)),
    wrap: wrapped,
    end: tail === (asked.end ?? ''),
  }
}

export function inCase(text: string, kind: WordingTruth['case']): string {
  const lower = text.toLowerCase()
  if (kind === 'upper') return text.toUpperCase()
  return kind === 'title' ? lower.slice(0, 1).toUpperCase() + lower.slice(1) : lower
}

function judge(text: string, groundTruth: unknown): Verdict {
  const asked = wordingTruth.safeParse(groundTruth)
  if (!asked.success) {
    const issue = asked.error.issues[0]!
    return badTruth('wording', `${issue.path.join('.') || '(value)'}: ${issue.message}`)
  }
  const rules = checkRules(text, asked.data)
  if (!rules) return { outcome: 'unparsable', score: 0 }
  const broken = Object.entries(rules).flatMap(([rule, met]) => (met ? [] : [rule]))
  return { outcome: 'score', score: broken.length === 0 ? 1 : 0, detail: { broken } }
}

/** Scores 1 where every rule is met, else 0; a text without a single word is unparsable. */
export function wording(): RuleVerifier {
  const truth = { word: 'fox', count: 2, case: 'upper', end: '!' }
  const samples = {
    good: [{ response: 'FOX FOX!', truth }],
    bad: [
      { response: 'fox fox', truth },
      { response: '', truth },
    ],
  }
  return ruleVerifier({ name: 'wording', version: '1', sources: [import.meta.url], samples, judge })
}
