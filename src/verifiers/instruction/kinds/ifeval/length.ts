import { compare, count, type Kinds, kind, ordinal, phrase, relation } from '../../kind.ts'
import { sentences } from '../../text/sentences.ts'
import { wordRuns } from '../../text/words.ts'

/** How many parts hold text; undefined where an empty one lies between others. */
export function filledParts(parts: readonly string[]): string[] | undefined {
  const filled = parts.filter((part, i) => part.trim() !== '' || (i > 0 && i < parts.length - 1))
  return filled.every((part) => part.trim() !== '') ? filled : undefined
}

/** The word up to its first mark, quotes before it left out. */
function firstWord(paragraph: string): string {
  const word = /^\S+/.exec(paragraph)![0].replace(/^'+/, '').replace(/^"+/, '')
  return /^[^.,?!'"]*/.exec(word)![0].toLowerCase()
}

export const length: Kinds = {
  'length_constraints:number_words': kind({ num_words: count, relation }, (text, asked) =>
    compare(wordRuns(text).length, asked.relation, asked.num_words),
  ),
  'length_constraints:number_sentences': kind({ num_sentences: count, relation }, (text, asked) =>
    compare(sentences(text).length, asked.relation, asked.num_sentences),
  ),
  /** Paragraphs are divided by `***`. */
  'length_constraints:number_paragraphs': kind(
    { num_paragraphs: count },
    (text, asked) => filledParts(text.split(/\s?\*\*\*\s?/))?.length === asked.num_paragraphs,
  ),
  /** Paragraphs are divided by an empty line; empty ones do not count, though they keep their place. */
  'length_constraints:nth_paragraph_first_word': kind(
    { num_paragraphs: count, nth_paragraph: ordinal, first_word: phrase },
    (text, asked) => {
      const paragraphs = text.split('\n\n')
      const filled = paragraphs.filter((paragraph) => paragraph.trim() !== '').length
      const paragraph = paragraphs[asked.nth_paragraph - 1]?.trim() ?? ''
      return (
        filled === asked.num_paragraphs &&
        asked.nth_paragraph <= filled &&
        paragraph !== '' &&
        firstWord(paragraph) === asked.first_word.toLowerCase()
      )
    },
  ),
}
