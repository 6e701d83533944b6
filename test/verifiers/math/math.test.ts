import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { math, mathKind } from '../../../src/verifiers/math/index.ts'
import { judgeMath } from '../../../src/verifiers/math/judge.ts'

const equal = (gold: string, answer: string): boolean =>
  judgeMath(answer, gold, { bare: true }).comparison?.equal ?? false

describe('different', () => {
  test.each([
    ['1/2^{99}', '1/2^{98}'],
    ['n=2,3,4', '1,2,3'],
    [String.raw`\pm 2021`, '2021'],
    ['12:00', '1:00'],
    ['3x+5=0', '5x+3=0'],
    ['2x+4=0', 'y=0'],
    ['2^x', '2^y'],
    [String.raw`\sin(1)+2^{-99}`, String.raw`\sin(1)+2^{-98}`],
    ['(1,2)', '(2,1)'],
    ['[0,1)', '(0,1)'],
    ['x>5', 'x<5'],
    ['0.5', '0.5%'],
    ['0.333', '1/3'],
    ['9^{9^{9^9}}', '3'],
  ])('%s and %s', (gold, answer) => expect(equal(gold, answer)).toBe(false))
})

describe('equal', () => {
  test.each([
    [String.raw`\sqrt{1/n}`, String.raw`1/\sqrt{n}`],
    ['x^2+2x+1', '(x+1)^2'],
    [String.raw`\frac34`, '0.75'],
    [String.raw`\sqrt{3+2\sqrt2}`, String.raw`1+\sqrt2`],
    [String.raw`\log_2 8`, '3'],
    ['5!', '120'],
    ['2^{n+1}', String.raw`2\cdot 2^n`],
    ['x/(x+1)', '1-1/(x+1)'],
    [String.raw`\tan^2(y)+1`, String.raw`\sec^2(y)`],
    ['x>3', String.raw`(3,\infty)`],
    ['10%', '0.1'],
    ['1/3', '0.333333'],
    ['1234', '1,234'],
    [String.raw`\text{C}`, '(C)'],
    [String.raw`\begin{pmatrix}1\\2\end{pmatrix}`, String.raw`\begin{bmatrix} 2/2 \\ 2 \end{bmatrix}`],
  ])('%s and %s', (gold, answer) => expect(equal(gold, answer)).toBe(true))
})

const fraction = fc.tuple(fc.bigInt(-(10n ** 30n), 10n ** 30n), fc.bigInt(1n, 10n ** 30n))

test('fractions are equal where their cross products are, and nowhere else', () => {
  fc.assert(
    fc.property(fraction, fraction, ([a, b], [c, d]) => {
      expect(equal(`${a}/${b}`, `\\frac{${c}}{${d}}`)).toBe(a * d === c * b)
      expect(equal(`${a}/${b}`, `\\dfrac{${a * d}}{${b * d}}`)).toBe(true)
    }),
  )
})

test('expanded and factored quadratics are equal, and another constant is seen', () => {
  const n = fc.integer({ min: -99, max: 99 })
  fc.assert(
    fc.property(n, n, n, (a, b, off) => {
      const expanded = `x^2+(${a + b})x+(${a * b + off})`
      expect(equal(expanded, `(x+(${a}))(x+(${b}))`)).toBe(off === 0)
    }),
  )
})

describe('verdicts', () => {
  test.each([
    [String.raw`So \boxed{\frac{1}{2}}.`, '0.5', 'boxed', 1],
    ['3 - 1 = 2\n#### 2', '2', 'marker', 1],
    ['The answer is 1,200 dollars.', '1200', 'sentence', 1],
    ['Hence $x = 4$.', '5', 'formula', 0],
    ['That makes 7 apples', '7', 'number', 1],
    ['So we get 98,804,549.', '98804549', 'number', 1],
    ['It is -31.1', '-\\frac{311}{10}', 'number', 1],
    ['Thus 75/341', '\\frac{75}{342}', 'number', 0],
    ['x = 2 or x = 3', '2, 3', 'whole', 1],
  ])('%s', (response, gold, place, score) => {
    expect(math().judge(response, gold)).toMatchObject({ outcome: 'score', score, detail: { place } })
  })

  test('a response without an answer is unparsable, a gold without one the fault of the task', () => {
    expect(math().judge('', '5')).toEqual({ outcome: 'unparsable', score: 0 })
    expect(math().judge('I do not know', '5')).toEqual({ outcome: 'unparsable', score: 0 })
    for (const gold of ['', '{{1', 5]) expect(math().judge('5', gold)).toMatchObject({ outcome: 'failed' })
  })

  test('a kind judges cases and refuses unknown fields', async () => {
    await using bare = await mathKind.open({ jobs: 1, flags: { bare: true } })
    const given = { id: 'a', response: 'x+x', answer: '2x' }
    expect(await bare.judge(given, AbortSignal.timeout(1000))).toMatchObject({ score: 1 })
    expect(mathKind.schema.safeParse({ ...given, extra: 1 }).success).toBe(false)
  })
})

test.each([
  [String.raw`\boxed{`, 20_000],
  ['$', 200_000],
  ['the answer is ', 20_000],
  ['9', 1_000_000],
  [String.raw`\boxed{1} and `, 20_000],
  ['(', 8_000],
  ['-', 8_000],
  ['x^{', 2_000],
])('%s, repeated, is judged without an error', (piece, times) => {
  for (const bare of [false, true])
    expect(['score', 'unparsable']).toContain(math({ bare }).judge(piece.repeat(times), '5').outcome)
})
