import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseAnswer, sum } from '../../src/verifiers/sum.ts'

const { judge } = sum()

describe('judge', () => {
  it.each([
    ['the bare answer', '=12', 12, 1],
    ['the end of a chain', '7+5=12;12-9=3', 3, 1],
    ['an answer after a wrong step', '7+5=11;12-9=3', 3, 1],
    ['the last of several answers', '=4;=5', 5, 1],
    ['an earlier answer that was right', '=5;=4', 5, 0],
    ['a wrong answer', '=13', 12, 0],
    ['a negative answer', '3-9=-6', -6, 1],
    ['the sign missing', '3-9=6', -6, 0],
    ['minus zero', '=-0', 0, 1],
    ['leading zeros', '=007', 7, 1],
    ['spaces around the number', '= 12 ', 12, 1],
    ['a line break behind', '=12\n', 12, 1],
    ['a number that only begins like the answer', '=123', 12, 0],
    [
      'a number beyond 2^53 that a double would round to the answer',
      '=9007199254740993',
      '9007199254740992',
      0,
    ],
  ])('scores %s: %j against %j', (_, text, truth, score) => {
    expect(judge(text, String(truth))).toMatchObject({ outcome: 'score', score })
  })

  it.each([
    ['nothing', ''],
    ['no equals sign', '12'],
    ['no number', '7+5='],
    ['text behind the number', '=12!'],
    ['a second number behind', '=12 13'],
    ['a decimal point', '=12.0'],
    ['a sign apart from its number', '=- 12'],
    ['a plus sign', '=+12'],
    ['digits of another script', '=१२'],
    ['an answer and then an open step', '=12;12-'],
  ])('finds no answer in %s', (_, text) => {
    expect(judge(text, '12')).toEqual({ outcome: 'unparsable', score: 0 })
  })

  it('reports what it read', () => {
    expect(judge('1+1=02', '2')).toEqual({ outcome: 'score', score: 1, detail: { answer: '2' } })
  })

  it.each([[12], ['012'], ['-0'], ['1e3'], ['+1'], [''], [null], [undefined], [{}]])(
    'fails on the ground truth %j, without a score',
    (truth) => {
      const verdict = judge('=12', truth)
      expect(verdict).toMatchObject({ outcome: 'failed', code: 'VERIFIER_FAILED', retryable: false })
      expect(verdict).not.toHaveProperty('score')
    },
  )

  it('gives a verdict on any text, and a score only to the answer it reads', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), chain), fc.bigInt(), (text, truth) => {
        const verdict = judge(text, String(truth))
        const answer = parseAnswer(text)
        expect(verdict.outcome).toBe(answer === undefined ? 'unparsable' : 'score')
        if (verdict.outcome === 'score') expect(verdict.score).toBe(answer === truth ? 1 : 0)
      }),
    )
  })

  it('accepts every whole number behind every working', () => {
    fc.assert(
      fc.property(fc.bigInt(), fc.string(), (n, working) => {
        expect(judge(`${working}=${n}`, String(n))).toMatchObject({ score: 1 })
      }),
    )
  })
})

/** Texts near what a response looks like, so that the parser is met at its edges. */
const chain = fc.string({ unit: fc.constantFrom(...'0123456789+-=; \n'), maxLength: 40 })
