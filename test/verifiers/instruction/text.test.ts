import { describe, expect, it } from 'vitest'
import { csvRows } from '../../../src/verifiers/instruction/text/csv.ts'
import { languageOf } from '../../../src/verifiers/instruction/text/language.ts'
import { sentences } from '../../../src/verifiers/instruction/text/sentences.ts'
import { tokens } from '../../../src/verifiers/instruction/text/tokens.ts'
import { occurrences, wholeWords } from '../../../src/verifiers/instruction/text/words.ts'

describe('sentences', () => {
  it.each([
    ['', []],
    ['  \n ', []],
    ['No end', ['No end']],
    ['He came. He saw! Did he win?', ['He came.', 'He saw!', 'Did he win?']],
    ['Dr. A. B. Smith of Acme Inc. paid $3.50.', ['Dr. A. B. Smith of Acme Inc. paid $3.50.']],
    ['He left at 5 p.m. The door shut.', ['He left at 5 p.m.', 'The door shut.']],
    ['"Go!" he said. (He went.) Good.', ['"Go!"', 'he said.', '(He went.)', 'Good.']],
    ['Well... maybe so. Well... The end.', ['Well... maybe so.', 'Well...', 'The end.']],
    ['1. First\n2. Second', ['1.', 'First\n2.', 'Second']],
    ['See example.com now. Bye', ['See example.com now.', 'Bye']],
  ])('%j', (text, parts) => {
    expect(sentences(text)).toEqual(parts)
  })
})

describe('tokens', () => {
  it.each([
    ["Don't go, it's Sam's.", ['Do', "n't", 'go', ',', 'it', "'s", 'Sam', "'s", '.']],
    ['The U.S. paid $3,000.50 (net).', ['The', 'U.S.', 'paid', '$', '3,000.50', '(', 'net', ')', '.']],
    ['\'Yes\' -- "no"...', ["'", 'Yes', "'", '--', '"', 'no', '"', '...']],
  ])('%j', (text, parts) => {
    expect(tokens(text)).toEqual(parts)
  })
})

describe('the language', () => {
  it.each([
    ['en', 'This is a sentence in plain English.'],
    ['en', 'THIS IS A SENTENCE IN PLAIN ENGLISH, WITH CAPITALS ALL OVER.'],
    ['sw', 'Ninapenda kusoma vitabu vya zamani kila siku asubuhi kabla ya kazi.'],
    ['ru', 'Это предложение написано на русском языке.'],
    ['bg', 'Това изречение е написано на български език, а не на друг.'],
    ['mr', 'हे वाक्य मराठी भाषेत लिहिलेले आहे आणि ते खूप सोपे आहे.'],
    ['ko', '이 문장은 한국어로 쓰여 있습니다.'],
    [undefined, '12 + 30 = 42'],
  ])('%s', (language, text) => {
    expect(languageOf(text)).toBe(language)
  })
})

describe('words to look for', () => {
  it('are taken literally', () => {
    expect(occurrences('a.b (a+b)', 'a.b')).toBe(1)
    expect(occurrences('C++ and c++', 'C++')).toBe(2)
    expect(wholeWords('.net and .NET', '.net')).toBe(0)
    expect(wholeWords('the cat, a Cat; concatenate', 'cat')).toBe(2)
    expect(wholeWords('été étés', 'été')).toBe(1)
  })
})

describe('rows of comma-separated values', () => {
  it('keep quoted delimiters and line ends inside a field', () => {
    expect(csvRows('a,"b,""c""\n d"\n\n1,2\n', ',', 9)).toEqual([['a', '"b,""c""\n d"'], [], ['1', '2']])
  })

  it('are not read beyond the limit', () => {
    expect(csvRows('a\n'.repeat(3), ',', 2)).toBeUndefined()
  })
})
