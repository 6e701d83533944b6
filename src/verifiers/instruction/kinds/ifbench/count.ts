import { count, type Kinds, kind, ordinal, phrase } from '../../kind.ts'
import { tokens } from '../../text/tokens.ts'
import { marksAndBlank, spaced, strip, wholeWords, withoutMarks, wordRuns } from '../../text/words.ts'

const conjunctions = new Set(['and', 'but', 'for', 'nor', 'or', 'so', 'yet'])

const pronouns = new Set(
  `i me we us you he him she her it they them my mine our ours your yours his hers its their theirs
  myself ourselves yourself yourselves himself herself itself themselves this that these those
  who whom whose which what whoever whomever whatever whichever anybody anyone anything everybody everyone
  everything nobody nothing somebody someone something each either neither both all some any none`.split(
    /\s+/,
  ),
)

/** The names that the prompts list. */
const names =
  `Emma Liam Sophia Jackson Olivia Noah Ava Lucas Isabella Mason Mia Ethan Charlotte Alexander Amelia Benjamin
  Harper Leo Zoe Daniel Chloe Samuel Lily Matthew Grace Owen Abigail Gabriel Ella Jacob Scarlett Nathan Victoria
  Elijah Layla Nicholas Audrey David Hannah Christopher Penelope Thomas Nora Andrew Aria Joseph Claire Ryan
  Stella Jonathan`.split(/\s+/)

const bare = (word: string): string => strip(word, marksAndBlank)

/** Each mark once, and an interrobang that does not count as its two. */
function allPunctuation(text: string): boolean {
  if (!/!\?|\?!|‽/.test(text)) return false
  const rest = text.includes('?!') ? text.replace('?!', '') : text.replace('!?', '')
  return ['.', ',', '!', '?', ';', ':'].every((mark) => rest.includes(mark))
}

export const counts: Kinds = {
  'count:word_count_range': kind({ min_words: count, max_words: count }, (text, asked) => {
    const words = wordRuns(text).length
    return words >= asked.min_words && words <= asked.max_words
  }),
  'count:unique_word_count': kind(
    { N: count },
    (text, asked) => new Set(spaced(text.toLowerCase()).map(bare)).size >= asked.N,
  ),
  /** `and` and `And` are two, as in the published verdicts. */
  'count:conjunctions': kind({ small_n: count }, (text, asked) => {
    const found = spaced(text).filter((word) => conjunctions.has(bare(word).toLowerCase()))
    return new Set(found).size >= asked.small_n
  }),
  'count:person_names': kind(
    { N: count },
    (text, asked) => names.filter((name) => wholeWords(text, name, 'gu') > 0).length >= asked.N,
  ),
  'count:numbers': kind(
    { N: count },
    (text, asked) => (withoutMarks(text).match(/\p{Nd}+/gu)?.length ?? 0) === asked.N,
  ),
  'count:pronouns': kind(
    { N: count },
    (text, asked) =>
      tokens(text.toLowerCase().replaceAll('/', ' ')).filter((word) => pronouns.has(word)).length >= asked.N,
  ),
  'count:punctuation': kind({}, allPunctuation),
  'count:keywords_multiple': kind(
    { keyword1: phrase, keyword2: phrase, keyword3: phrase, keyword4: phrase, keyword5: phrase },
    (text, asked) =>
      [
        [asked.keyword1, 1],
        [asked.keyword2, 2],
        [asked.keyword3, 3],
        [asked.keyword4, 5],
        [asked.keyword5, 7],
      ].every(([word, times]) => wholeWords(text, String(word).trim()) === times),
  ),
  'count:words_japanese': kind({ N: ordinal }, (text, asked) =>
    spaced(text).every((word, i) => {
      const part = bare(word)
      if ((i + 1) % asked.N !== 0 || part === '' || /^\p{Nd}+$/u.test(part)) return true
      return /[\u3040-\u30ff\u4e00-\u9fff]/.test(part)
    }),
  ),
}
