import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compose } from '../../src/tasks/instruction.ts'
import { checkRules, type WordingTruth, wording } from '../../src/verifiers/wording.ts'

const { judge } = wording()

describe('judge', () => {
  it.each<[string, string, WordingTruth]>([
    ['one word', 'fox', { word: 'fox', count: 1 }],
    ['three words', 'fox fox fox', { word: 'fox', count: 3 }],
    ['a start word', 'ok fox fox', { word: 'fox', count: 2, start: 'ok' }],
    ['a start word that is the word', 'fox fox', { word: 'fox', count: 1, start: 'fox' }],
    ['a joining mark', 'fox-fox', { word: 'fox', count: 2, join: '-' }],
    ['upper case', 'OK FOX', { word: 'fox', count: 1, start: 'ok', case: 'upper' }],
    ['title case', 'Ok Fox', { word: 'fox', count: 1, start: 'ok', case: 'title' }],
    ['marks around', '[fox fox]', { word: 'fox', count: 2, wrap: ['[', ']'] }],
    ['an end mark', 'fox fox!', { word: 'fox', count: 2, end: '!' }],
    [
      'the end mark inside the wrap',
      '"Fox!"',
      { word: 'fox', count: 1, case: 'title', wrap: ['"', '"'], end: '!' },
    ],
    ['an end mark like the closing one', '!fox!!', { word: 'fox', count: 1, wrap: ['!', '!'], end: '!' }],
  ])('scores 1 for %s', (_, text, asked) => {
    expect(judge(text, asked)).toEqual({ outcome: 'score', score: 1, detail: { broken: [] } })
  })

  const asked: WordingTruth = {
    word: 'fox',
    count: 2,
    start: 'ok',
    join: '-',
    case: 'upper',
    wrap: ['(', ')'],
    end: '.',
  }
  it.each([
    ['everything met', '(OK-FOX-FOX.)', []],
    ['one word too few', '(OK-FOX.)', ['words']],
    ['one word too many', '(OK-FOX-FOX-FOX.)', ['words']],
    ['another word', '(OK-FOX-DOG.)', ['words']],
    ['no start word', '(FOX-FOX.)', ['start']],
    ['the start word last', '(FOX-FOX-OK.)', ['words', 'start']],
    ['another joining mark once', '(OK-FOX FOX.)', ['join']],
    ['a joining mark twice', '(OK--FOX-FOX.)', ['join']],
    ['lower case in one letter', '(OK-FOX-FOx.)', ['case']],
    ['no opening mark', 'OK-FOX-FOX.)', ['wrap']],
    ['no closing mark', '(OK-FOX-FOX.', ['wrap']],
    ['marks of another kind', '[OK-FOX-FOX.]', ['wrap', 'end']],
    ['the end mark outside', '(OK-FOX-FOX).', ['wrap', 'end']],
    ['no end mark', '(OK-FOX-FOX)', ['end']],
    ['the end mark twice', '(OK-FOX-FOX..)', ['end']],
    ['a space in front', ' (OK-FOX-FOX.)', ['wrap']],
    ['a space behind', '(OK-FOX-FOX.) ', ['wrap', 'end']],
    ['a line break behind', '(OK-FOX-FOX.)\n', ['wrap', 'end']],
    ['words behind', '(OK-FOX-FOX.) done', ['words', 'join', 'case', 'wrap', 'end']],
    ['the answer twice', '(OK-FOX-FOX.)(OK-FOX-FOX.)', ['words', 'join']],
    ['a letter of another alphabet', '(OK-FOX-F\u041eX.)', ['words', 'join']],
    ['a digit in a word', '(OK-FOX-F0X.)', ['words', 'join']],
  ])('names the broken rules of %s: %j', (_, text, broken) => {
    expect(judge(text, asked)).toEqual({
      outcome: 'score',
      score: broken.length === 0 ? 1 : 0,
      detail: { broken },
    })
  })

  it.each([
    ['a case', 'FOX fox', ['case']],
    ['marks around', '(fox fox)', ['wrap', 'end']],
    ['an end mark', 'fox fox.', ['end']],
    ['a start word', 'ok fox fox', ['words']],
    ['a joining mark', 'fox-fox', ['join']],
  ])('breaks a rule with %s that nobody asked for', (_, text, broken) => {
    expect(judge(text, { word: 'fox', count: 2 })).toMatchObject({ score: 0, detail: { broken } })
  })

  it.each([[''], ['   '], ['123'], ['()!?'], ['\n'], ['мяу']])('finds no word in %j', (text) => {
    expect(judge(text, { word: 'fox', count: 1 })).toEqual({ outcome: 'unparsable', score: 0 })
  })

  it.each<[string, unknown, string]>([
    ['nothing', undefined, '(value)'],
    ['an upper-case word', { word: 'Fox', count: 1 }, 'word'],
    ['no word', { word: '', count: 1 }, 'word'],
    ['a count of 0', { word: 'fox', count: 0 }, 'count'],
    ['a letter as a mark', { word: 'fox', count: 1, end: 'a' }, 'end'],
    ['a mark of two characters', { word: 'fox', count: 2, join: '--' }, 'join'],
    ['an unknown case', { word: 'fox', count: 1, case: 'lower' }, 'case'],
    ['half a wrap', { word: 'fox', count: 1, wrap: ['('] }, 'wrap'],
    ['a rule that it does not know', { word: 'fox', count: 1, colour: 'red' }, '(value)'],
  ])('fails on a ground truth with %s, without a score', (_, truth, path) => {
    const verdict = judge('fox', truth)
    expect(verdict).toMatchObject({ outcome: 'failed', code: 'VERIFIER_FAILED', retryable: false })
    expect(verdict).toMatchObject({ message: expect.stringContaining(`ground truth: ${path}`) })
    expect(verdict).not.toHaveProperty('score')
  })
})

const mark = fc.constantFrom(...'-/+,_()[]<>"!?. 0~'.split(''))
const word = fc.string({ unit: fc.constantFrom(...'abcxyz'), minLength: 1, maxLength: 4 })
const truth: fc.Arbitrary<WordingTruth> = fc.record(
  {
    word,
    count: fc.integer({ min: 1, max: 4 }),
    start: word,
    join: mark,
    case: fc.constantFrom('upper' as const, 'title' as const),
    wrap: fc.tuple(mark, mark),
    end: mark,
  },
  { requiredKeys: ['word', 'count'] },
)

/** A text with one character put in, taken out or changed at a place. */
const damaged = (text: string) =>
  fc
    .tuple(fc.nat(text.length), fc.nat(1), fc.string({ unit: 'grapheme', maxLength: 1 }))
    .map(([at, cut, put]) => text.slice(0, at) + put + text.slice(at + cut))

describe('any truth', () => {
  it('is met by exactly one text, and by none that is one character off', () => {
    const pair = truth.chain((t) => fc.tuple(fc.constant(t), damaged(compose(t))))
    fc.assert(
      fc.property(pair, ([t, text]) => {
        expect(judge(compose(t), t)).toMatchObject({ outcome: 'score', score: 1 })
        if (text !== compose(t)) expect(judge(text, t)).toMatchObject({ score: 0 })
      }),
      { numRuns: 1000 },
    )
  })

  it('gets a verdict on any text, and never an error', () => {
    fc.assert(
      fc.property(truth, fc.string({ unit: 'binary' }), (t, text) => {
        const verdict = judge(text, t)
        expect(verdict.outcome).toBe(checkRules(text, t) ? 'score' : 'unparsable')
      }),
    )
  })
})
