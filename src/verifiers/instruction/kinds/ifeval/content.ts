import { z } from 'zod'
import { compare, count, type Kinds, kind, phrase, relation, wording } from '../../kind.ts'
import { languageOf } from '../../text/language.ts'
import { tokens } from '../../text/tokens.ts'
import { isLower, isUpper, stripEnd } from '../../text/words.ts'
import { filledParts } from './length.ts'

/** The languages that IFEval asks for. */
const languages = z.enum(
  `en es pt ar hi fr ru de ja it bn uk th ur ta te bg ko pl he fa vi ne sw kn mr gu pa ml fi`.split(' '),
)

const quote: ReadonlySet<string> = new Set('"')

/** Square brackets that open and close on one line. */
function placeholders(text: string): number {
  let found = 0
  for (const line of text.split('\n')) {
    let open = line.indexOf('[')
    while (open >= 0) {
      const close = line.indexOf(']', open)
      if (close < 0) break
      found++
      open = line.indexOf('[', close)
    }
  }
  return found
}

/** The marker anywhere; those of IFEval also with spaces between their letters. */
function hasPostscript(text: string, marker: string): boolean {
  const lower = text.toLowerCase()
  if (marker === 'P.P.S') return /p\.\s?p\.\s?s/.test(lower)
  if (marker === 'P.S.') return /p\.\s?s\./.test(lower)
  return lower.includes(marker.toLowerCase())
}

/** Exactly two responses, divided by six asterisks, that differ. */
function twoResponses(text: string): boolean {
  const parts = filledParts(text.split('******'))
  return parts?.length === 2 && parts[0]!.trim() !== parts[1]!.trim()
}

export const content: Kinds = {
  'detectable_content:number_placeholders': kind(
    { num_placeholders: count },
    (text, asked) => placeholders(text) >= asked.num_placeholders,
  ),
  'detectable_content:postscript': kind({ postscript_marker: phrase }, (text, asked) =>
    hasPostscript(text, asked.postscript_marker.trim()),
  ),
  'combination:two_responses': kind({}, twoResponses),
  'combination:repeat_prompt': kind({ prompt_to_repeat: wording }, (text, asked) =>
    text.trim().toLowerCase().startsWith(asked.prompt_to_repeat.trim().toLowerCase()),
  ),
  'startend:end_checker': kind({ end_phrase: wording }, (text, asked) =>
    stripEnd(text.trim(), quote).toLowerCase().endsWith(asked.end_phrase.trim().toLowerCase()),
  ),
  'startend:quotation': kind({}, (text) => {
    const body = text.trim()
    return body.length > 1 && body.startsWith('"') && body.endsWith('"')
  }),
  'punctuation:no_comma': kind({}, (text) => !text.includes(',')),
  'language:response_language': kind(
    { language: languages },
    (text, asked) => languageOf(text) === asked.language,
  ),
  'change_case:english_capital': kind({}, (text) => isUpper(text) && languageOf(text) === 'en'),
  'change_case:english_lowercase': kind({}, (text) => isLower(text) && languageOf(text) === 'en'),
  'change_case:capital_word_frequency': kind(
    { capital_frequency: count, capital_relation: relation },
    (text, asked) =>
      compare(tokens(text).filter(isUpper).length, asked.capital_relation, asked.capital_frequency),
  ),
}
