import { syllable } from 'syllable'
import { count, type Kinds, kind, ordinal, phrase } from '../../kind.ts'
import { sentences } from '../../text/sentences.ts'
import { wordTokens } from '../../text/tokens.ts'
import { startsWithVerb } from '../../text/verb.ts'
import {
  marksAndBlank,
  plainWords,
  spaced,
  strip,
  stripEnd,
  stripStart,
  withoutMarks,
} from '../../text/words.ts'

function alphabetical(text: string): boolean {
  const first = plainWords(text).map((word) => word.charCodeAt(0) - 97)
  return (
    first.length > 0 &&
    first.every((letter, i) => letter >= 0 && letter < 26 && letter === (first[0]! + i) % 26)
  )
}

const isPalindrome = (word: string): boolean => [...word].reverse().join('') === word

function isPrime(n: number): boolean {
  if (n < 2) return false
  for (let d = 2; d * d <= n; d++) if (n % d === 0) return false
  return true
}

/** Each sentence begins with the last word of the one before. */
function chained(text: string): boolean {
  const parts = sentences(text)
  return parts.every((part, i) => {
    if (i === 0) return true
    const last = spaced(stripEnd(parts[i - 1]!, marksAndBlank)).at(-1)
    const first = spaced(stripStart(part, marksAndBlank))[0]
    return last !== undefined && last.toLowerCase() === first?.toLowerCase()
  })
}

function framed(paragraph: string): boolean {
  const words = spaced(strip(paragraph.trim().toLowerCase(), marksAndBlank))
  return words.length === 0 || words[0] === words.at(-1)
}

/** Words longer than any dictionary's are no words: their syllables are not counted. */
const syllables = (word: string): number => syllable(word.slice(0, 50))

/** How often the most frequent word comes. */
function mostFrequent(words: readonly string[]): number {
  const counts = new Map<string, number>()
  let most = 0
  for (const word of words) {
    const now = (counts.get(word) ?? 0) + 1
    counts.set(word, now)
    most = Math.max(most, now)
  }
  return most
}

const neighbours = (words: readonly string[], hold: (before: string, now: string) => boolean): boolean =>
  words.every((now, i) => i === 0 || hold(words[i - 1]!, now))

export const wordKinds: Kinds = {
  'words:alphabet': kind({}, alphabetical),
  'words:vowel': kind({}, (text) => {
    const paragraph = text.trim().toLowerCase()
    return !paragraph.includes('\n') && [...'aeiou'].filter((vowel) => paragraph.includes(vowel)).length <= 3
  }),
  'words:consonants': kind({}, (text) =>
    spaced(text.toLowerCase()).every((word) => /[bcdfghj-np-tv-z]{2}/.test(word)),
  ),
  'words:palindrome': kind(
    {},
    (text) => plainWords(text).filter((word) => word.length >= 5 && isPalindrome(word)).length >= 10,
  ),
  'words:prime_lengths': kind({}, (text) =>
    spaced(withoutMarks(text)).every((word) => isPrime([...word].length)),
  ),
  'words:start_verb': kind({}, startsWithVerb),
  'words:repeats': kind({ small_n: count }, (text, asked) => mostFrequent(plainWords(text)) <= asked.small_n),
  'words:odd_even_syllables': kind({}, (text) =>
    neighbours(plainWords(text), (before, now) => syllables(before) % 2 !== syllables(now) % 2),
  ),
  'words:last_first': kind({}, chained),
  'words:paragraph_last_first': kind({}, (text) => text.split('\n').every(framed)),
  'words:no_consecutive': kind({}, (text) =>
    neighbours(plainWords(text), (before, now) => before[0] !== now[0]),
  ),
  'words:keywords_specific_position': kind({ keyword: phrase, n: ordinal, m: ordinal }, (text, asked) => {
    const word = wordTokens(sentences(text)[asked.n - 1] ?? '')[asked.m - 1]
    return word?.toLowerCase() === asked.keyword.trim().toLowerCase()
  }),
  'words:words_position': kind({ keyword: phrase }, (text, asked) => {
    const words = wordTokens(text).map((token) => token.toLowerCase())
    const word = asked.keyword.trim().toLowerCase()
    return words.length >= 2 && words[1] === word && words.at(-2) === word
  }),
}
