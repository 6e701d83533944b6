import { z } from 'zod'
import { type Kinds, kind, percentage } from '../../kind.ts'
import { sentences } from '../../text/sentences.ts'
import { stopWords } from '../../text/stop-words.ts'
import { plainWords, stripEnd, wordRuns } from '../../text/words.ts'

const quotes: ReadonlySet<string> = new Set('"\'”’')

/** Sentences that end in the mark, also where a quote closes behind it. */
function ending(parts: readonly string[], mark: string): number {
  return parts.filter((part) => stripEnd(part, quotes).endsWith(mark)).length
}

/** Three characters in a row: IFBench's checker takes its trigrams of the text itself, not of its words. */
function trigrams(text: string): Set<string> {
  const characters = [...text]
  return new Set(characters.slice(2).map((last, i) => `${characters[i]}${characters[i + 1]}${last}`))
}

/** Share of the text's trigrams that the reference has, in percent; undefined where the text has none. */
function overlap(text: string, reference: string): number | undefined {
  const own = trigrams(text)
  const other = trigrams(reference)
  return own.size === 0 ? undefined : (100 * [...own].filter((one) => other.has(one)).length) / own.size
}

export const ratios: Kinds = {
  'ratio:stop_words': kind({ percentage }, (text, asked) => {
    const words = wordRuns(text)
    const stops = words.filter((word) => stopWords.has(word.toLowerCase())).length
    return words.length > 0 && (100 * stops) / words.length <= asked.percentage
  }),
  'ratio:sentence_type': kind({}, (text) => {
    const parts = sentences(text)
    return ending(parts, '.') === 2 * ending(parts, '?')
  }),
  'ratio:sentence_balance': kind({}, (text) => {
    const parts = sentences(text)
    return ending(parts, '.') === ending(parts, '?') && ending(parts, '?') === ending(parts, '!')
  }),
  'ratio:overlap': kind({ reference_text: z.string(), percentage }, (text, asked) => {
    const share = overlap(text, asked.reference_text)
    return share !== undefined && Math.abs(share - asked.percentage) <= 2
  }),
  /** Three sentences of the same length in which no word comes twice. */
  'ratio:sentence_words': kind({}, (text) => {
    const parts = sentences(text)
    const words = plainWords(text)
    return (
      parts.length === 3 &&
      new Set(parts.map((part) => [...part].length)).size === 1 &&
      new Set(words).size === words.length
    )
  }),
}
