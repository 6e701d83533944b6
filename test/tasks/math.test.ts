import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { math, parsePrompt, workOut } from '../../src/tasks/math.ts'
import { math as verifier } from '../../src/verifiers/math.ts'

const task = math()
const pool = task.train(1)
const items = Array.from({ length: 20_000 }, (_, i) => pool.item(i))
const { judge } = verifier()

/** By walking around the clock, an hour at a time. */
function walk(terms: readonly number[]): number {
  const hours = Array.from({ length: 10 }, (_, h) => h)
  let at = 0
  for (const term of terms) {
    for (let step = 0; step < Math.abs(term); step++) at = hours.at((at + Math.sign(term)) % 10)!
  }
  return at
}

it('asks where the hand of a ten-hour clock stands after three to five moves', () => {
  for (const item of items) {
    expect(item.prompt).toMatch(/^[1-9]([+-][1-9]){2,4}\?$/)
    expect(item.groundTruth).toBe(String(walk(parsePrompt(item.prompt))))
  }
})

it('asks for half of the sums with five terms, and a quarter each with three and four', () => {
  const share = (n: number) =>
    items.filter((item) => parsePrompt(item.prompt).length === n).length / items.length
  expect(share(3)).toBeCloseTo(0.25, 1)
  expect(share(4)).toBeCloseTo(0.25, 1)
  expect(share(5)).toBeCloseTo(0.5, 1)
})

describe('workOut', () => {
  it('shows each term and where the hand has come to', () => {
    expect(workOut([7, 5, -9, 3])).toBe('7+5=2-9=3+3=6')
  })

  it('ends in the answer, with each step right', () => {
    const digit = fc.integer({ min: -9, max: 9 }).filter(Boolean)
    const terms = fc
      .tuple(fc.integer({ min: 1, max: 9 }), fc.array(digit, { minLength: 1, maxLength: 8 }))
      .map(([first, rest]) => [first, ...rest])
    fc.assert(
      fc.property(terms, (list) => {
        const text = workOut(list)
        expect(judge(text, String(walk(list)))).toMatchObject({ outcome: 'score', score: 1 })
        const steps = text.split('=')
        for (let i = 1; i < steps.length; i++) {
          const before = i === 1 ? steps[0]! : steps[i - 1]!
          const [a, b] = /^([0-9])([+-][0-9])$/.exec(before)!.slice(1).map(Number)
          expect(Number.parseInt(steps[i]!, 10)).toBe(walk([a!, b!]))
        }
      }),
    )
  })
})

describe('demonstration', () => {
  const shown = items.map((item) => ({
    terms: parsePrompt(item.prompt),
    text: task.demonstration(item, 1, 0),
    item,
  }))
  const direct = ({ text }: { text: string }) => text.startsWith('=')

  it('is right, however it is given', () => {
    for (const { text, item } of shown)
      expect(judge(text, item.groundTruth)).toMatchObject({ outcome: 'score', score: 1 })
  })

  it('is worked out in full for three terms, and for more by one annotator in four', () => {
    for (const s of shown) if (!direct(s)) expect(s.text).toBe(workOut(s.terms))
    expect(shown.filter((s) => s.terms.length === 3).filter(direct)).toEqual([])
    const long = shown.filter((s) => s.terms.length > 3)
    expect(long.filter(direct).length / long.length).toBeCloseTo(0.75, 1)
  })

  it('is the same for the same seed and visit, and not for others', () => {
    const long = items.filter((item) => parsePrompt(item.prompt).length > 3).slice(0, 200)
    const texts = (seed: number, visit: number) => long.map((item) => task.demonstration(item, seed, visit))
    expect(texts(1, 0)).toEqual(texts(1, 0))
    expect(texts(1, 1)).not.toEqual(texts(1, 0))
    expect(texts(2, 0)).not.toEqual(texts(1, 0))
  })
})
