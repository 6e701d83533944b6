import { describe, expect, it } from 'vitest'
import {
  instruction,
  instructionCase,
  instructionKind,
  instructionKinds,
} from '../../../src/verifiers/instruction/index.ts'
import { looseForms } from '../../../src/verifiers/instruction/text/loose.ts'
import { judgeOne } from './judge.ts'
import { pairs } from './pairs.ts'

const noComma = { id: 'punctuation:no_comma', kwargs: {} }
const has = (word: string) => ({ id: 'keywords:existence', kwargs: { keywords: [word] } })
const truth = (...instructions: unknown[]) => ({ prompt: 'Write.', instructions })

describe('the score', () => {
  it('is 1 only where every instruction is followed, and names each by its place', () => {
    const verifier = instruction()
    const asked = truth(noComma, has('oak'), has('elm'))
    expect(verifier.judge('An oak and an elm', asked)).toEqual({
      outcome: 'score',
      score: 1,
      detail: {
        followed: [true, true, true],
        instructions: ['punctuation:no_comma', 'keywords:existence', 'keywords:existence'],
        mode: 'strict',
      },
    })
    expect(verifier.judge('An oak', asked)).toMatchObject({
      score: 0,
      detail: { followed: [true, true, false] },
    })
  })

  it('can be the share: of the instructions, also where one comes twice', () => {
    const verifier = instruction({ score: 'share' })
    expect(verifier.judge('An oak', truth(has('oak'), has('elm'), has('ash'), noComma))).toMatchObject({
      score: 0.5,
    })
    expect(verifier.judge('An elm', truth(has('oak'), has('elm')))).toMatchObject({
      score: 0.5,
      detail: { followed: [false, true] },
    })
  })

  it('of an empty response is 0, whatever is asked', () => {
    for (const empty of ['', ' ', '\n\n']) {
      expect(instruction().judge(empty, truth(noComma))).toMatchObject({ outcome: 'score', score: 0 })
    }
  })
})

describe('a fault of the task is an error, never a score', () => {
  const verifier = instruction()

  it.each([
    [
      truth(noComma, { id: 'punctuation:no_commas', kwargs: {} }),
      /instructions\[1\]\.id: .*got "punctuation:no_commas"/,
    ],
    [truth({ id: 'constructor', kwargs: {} }), /instructions\[0\]\.id/],
    [truth({ id: 'multi-turn:constrained_start', kwargs: { starter: 'My' } }), /instructions\[0\]\.id/],
    [
      truth({ id: 'length_constraints:number_words', kwargs: { num_words: 3, relation: 'more than' } }),
      /instructions\[0\]\.kwargs\.relation: .*got "more than"/,
    ],
    [
      truth({ id: 'length_constraints:number_words', kwargs: { num_words: 3 } }),
      /kwargs\.relation: .*got undefined/,
    ],
    [
      truth({ id: 'length_constraints:number_words', kwargs: { num_words: 'x', relation: 'at least' } }),
      /kwargs\.num_words/,
    ],
    [truth({ ...noComma, kwargs: { commas: 1 } }), /commas/],
    [truth({ id: 'language:response_language', kwargs: { language: 'xx' } }), /kwargs\.language.*got "xx"/],
    [truth(), /ground truth: instructions/],
    [{ instructions: [noComma] }, /ground truth: prompt/],
    [{ ...truth(noComma), mode: 'lax' }, /ground truth: mode/],
    [undefined, /ground truth/],
  ])('%j', (asked, message) => {
    for (const text of ['A word', '']) {
      const verdict = verifier.judge(text, asked)
      expect(verdict).toMatchObject({ outcome: 'failed', code: 'VERIFIER_FAILED', retryable: false })
      expect(verdict).toHaveProperty('message', expect.stringMatching(message))
    }
  })

  it('takes null arguments for absent ones', () => {
    expect(judgeOne('keywords:existence', { keywords: ['oak'], letter: null }, 'oak')).toBe(true)
    expect(judgeOne('punctuation:no_comma', null, 'oak')).toBe(true)
  })
})

describe('relations', () => {
  const counted: [string, (relation: string) => Record<string, unknown>, (n: number) => string][] = [
    ['length_constraints:number_words', (relation) => ({ num_words: 3, relation }), (n) => 'word '.repeat(n)],
    [
      'length_constraints:number_sentences',
      (relation) => ({ num_sentences: 3, relation }),
      (n) => 'It is so. '.repeat(n),
    ],
    [
      'keywords:frequency',
      (relation) => ({ keyword: 'oak', frequency: 3, relation }),
      (n) => `The ${'oak '.repeat(n)}`,
    ],
    [
      'keywords:letter_frequency',
      (relation) => ({ letter: 'o', let_frequency: 3, let_relation: relation }),
      (n) => `The ${'o '.repeat(n)}`,
    ],
    [
      'change_case:capital_word_frequency',
      (relation) => ({ capital_frequency: 3, capital_relation: relation }),
      (n) => `The ${'NASA '.repeat(n)}`,
    ],
  ]

  it.each(counted)('%s: below, at and above the threshold', (id, kwargs, text) => {
    const of = (relation: string) => [2, 3, 4].map((n) => judgeOne(id, kwargs(relation), text(n)))
    expect(of('less than')).toEqual([true, false, false])
    expect(of('at least')).toEqual([false, true, true])
    expect(() => of('at most')).toThrow(/relation/)
  })
})

describe('the prompt repeated', () => {
  const kwargs = { prompt_to_repeat: 'Write a poem.' }

  it.each([
    ['Write a poem.', true],
    ['  write a POEM. Roses are red.', true],
    ['Write a poem', false],
    ['Sure! Write a poem.', false],
    ['Roses are red.', false],
  ])('%j', (text, follows) => {
    expect(judgeOne('combination:repeat_prompt', kwargs, text)).toBe(follows)
  })

  it('cannot be checked without it', () => {
    expect(() => judgeOne('combination:repeat_prompt', {}, 'Write a poem.')).toThrow(
      'kwargs.prompt_to_repeat',
    )
  })
})

describe('the loose reading', () => {
  it('takes the first line, the last one or both away, and asterisks', () => {
    expect(looseForms('a\n*b*\nc').sort()).toEqual(
      ['a\n*b*\nc', '*b*\nc', 'a\n*b*', '*b*', 'a\nb\nc', 'b\nc', 'a\nb', 'b'].sort(),
    )
  })

  it('has no form but the response itself and an empty one where there is one line', () => {
    expect(looseForms('a')).toEqual(['a', ''])
  })

  it.each([
    ['Sure, here it is:\n"All of it."'],
    ['"All of it."\nHope that helps!'],
    ['Sure:\n"All of it."\nHope that helps!'],
    ['**"All of it."**'],
  ])('%j', (text) => {
    expect(judgeOne('startend:quotation', {}, text, 'strict')).toBe(false)
    expect(judgeOne('startend:quotation', {}, text, 'loose')).toBe(true)
  })

  it('accepts for each instruction another form, and none that is empty', () => {
    const asked = { ...truth({ id: 'startend:quotation' }, has('Sure')), mode: 'loose' }
    expect(instruction().judge('Sure:\n"All."', asked)).toMatchObject({ score: 1 })
    expect(judgeOne('punctuation:no_comma', {}, 'a, b', 'loose')).toBe(false)
  })
})

describe('a verifier', () => {
  it('reads a ground truth without a mode as its options say', () => {
    const text = 'Sure:\n"All of it."'
    const asked = truth({ id: 'startend:quotation' })
    expect(instruction().judge(text, asked)).toMatchObject({ score: 0 })
    expect(instruction({ mode: 'loose' }).judge(text, asked)).toMatchObject({ score: 1 })
    expect(instruction({ mode: 'loose' }).judge(text, { ...asked, mode: 'strict' })).toMatchObject({
      score: 0,
    })
  })

  it('has a hash that its options change', () => {
    const hash = instruction().codeHash
    expect(hash).toBe(instruction({}).codeHash)
    expect(
      new Set([hash, instruction({ mode: 'loose' }).codeHash, instruction({ score: 'share' }).codeHash]).size,
    ).toBe(3)
  })
})

describe('cases', () => {
  const given = {
    id: '1',
    prompt: 'Write.',
    response: 'An oak',
    instructions: [has('oak'), has('elm')],
    mode: 'strict' as const,
  }
  const signal = new AbortController().signal

  it('are strict', () => {
    expect(instructionCase.safeParse(given).success).toBe(true)
    for (const bad of [
      { ...given, note: 1 },
      { ...given, mode: 'lax' },
      { ...given, instructions: [] },
    ]) {
      expect(instructionCase.safeParse(bad).success).toBe(false)
    }
    const { response, ...without } = given
    expect(response).toBe('An oak')
    expect(instructionCase.safeParse(without).success).toBe(false)
  })

  it('are judged, on request by share', async () => {
    await using judge = await instructionKind.open({ jobs: 1, flags: {} })
    expect(await judge.judge(given, signal)).toMatchObject({ score: 0, detail: { followed: [true, false] } })
    await using shares = await instructionKind.open({ jobs: 1, flags: { share: true } })
    expect(await shares.judge(given, signal)).toMatchObject({ score: 0.5 })
    const unknown = { ...given, instructions: [{ id: 'no:such' }] }
    expect(await judge.judge(unknown, signal)).toMatchObject({ outcome: 'failed' })
  })
})

/** Texts that would take a careless pattern or recursion minutes, or the stack. */
describe('a long hostile text', () => {
  const size = 100_000
  const verifier = instruction()
  const texts = [
    'a',
    ' ',
    '\n',
    '[',
    '<<',
    '*',
    '"',
    "'",
    '([{',
    '. ',
    '?',
    '-',
    '`',
    '1',
    '😀',
    'The cat ran. ',
    '\ud800',
  ].map((unit) => `x${unit.repeat(size / unit.length)}x`)

  it.each(Object.keys(instructionKinds))(
    '%s comes to a verdict',
    (id) => {
      const { kwargs } = pairs[id]!
      for (const text of texts) {
        expect(verifier.judge(text, truth({ id, kwargs }))).toMatchObject({ outcome: 'score' })
      }
    },
    10_000,
  )
})
