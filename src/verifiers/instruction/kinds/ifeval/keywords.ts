import { z } from 'zod'
import { compare, count, type Kinds, kind, phrase, relation } from '../../kind.ts'
import { occurrences, wholeWords } from '../../text/words.ts'

const one = z.string().refine((letter) => [...letter].length === 1, 'expected one character')

export const keywords: Kinds = {
  'keywords:existence': kind({ keywords: z.array(phrase).min(1) }, (text, asked) =>
    asked.keywords.every((word) => occurrences(text, word) > 0),
  ),
  'keywords:forbidden_words': kind({ forbidden_words: z.array(phrase).min(1) }, (text, asked) =>
    asked.forbidden_words.every((word) => wholeWords(text, word) === 0),
  ),
  'keywords:frequency': kind({ keyword: phrase, frequency: count, relation }, (text, asked) =>
    compare(occurrences(text, asked.keyword.trim()), asked.relation, asked.frequency),
  ),
  'keywords:letter_frequency': kind(
    { letter: one, let_frequency: count, let_relation: relation },
    (text, asked) =>
      compare(
        text.toLowerCase().split(asked.letter.toLowerCase()).length - 1,
        asked.let_relation,
        asked.let_frequency,
      ),
  ),
}
