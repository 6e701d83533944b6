import { count, type Kinds, kind, ordinal, phrase } from '../../kind.ts'
import { sentences } from '../../text/sentences.ts'
import { marksAndBlank, plainWords, spaced, stripStart, wholeWords } from '../../text/words.ts'

/** Words of a sentence that stand in runs of the same first letter. */
function alliterating(sentence: string): number {
  const letters = spaced(sentence.toLowerCase())
    .map((word) => stripStart(word, marksAndBlank))
    .filter((word) => word !== '')
    .map((word) => word[0])
  let found = 0
  for (let i = 1; i < letters.length; i++) {
    if (letters[i] === letters[i - 1]) found += i > 1 && letters[i - 1] === letters[i - 2] ? 1 : 2
  }
  return found
}

const consecutive = (numbers: readonly number[], holds: (before: number, now: number) => boolean): boolean =>
  numbers.every((now, i) => i === 0 || holds(numbers[i - 1]!, now))

export const sentenceKinds: Kinds = {
  'sentence:keyword': kind({ word: phrase, N: ordinal }, (text, asked) => {
    const sentence = sentences(text)[asked.N - 1]
    return sentence !== undefined && wholeWords(sentence, asked.word) > 0
  }),
  'sentence:increment': kind({ small_n: count }, (text, asked) =>
    consecutive(
      sentences(text).map((sentence) => plainWords(sentence).length),
      (before, now) => now === before + asked.small_n,
    ),
  ),
  'sentence:alliteration_increment': kind({}, (text) =>
    consecutive(sentences(text).map(alliterating), (before, now) => now > before),
  ),
}
