import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { math, parsePrompt, workOut } from '../../src/tasks/math.ts'
import { sum as verifier } from '../../src/verifiers/sum.ts'

const task = math()
const pool = task.train(1)
const items = Array.from({ length: 20_000 }, (_, i) => pool.item(i))
const { judge } = verifier()

it('asks for sums of four to seven digits whose partial sums are never negative', () => {
  for (const item of items) {
    expect(item.prompt).toMatch(/^[1-9]([+-][1-9]){3,6}\?$/)
    let sum = 0
    for (const term of parsePrompt(item.prompt)) {
      sum += term
      expect(sum).toBeGreaterThanOrEqual(0)
    }
    expect(item.groundTruth).toBe(String(sum))
  }
})

it('asks for half of the sums with six terms, and a quarter each with four and seven', () => {
  const share = (n: number) =>
    items.filter((item) => parsePrompt(item.prompt).length === n).length / items.length
  expect(share(4)).toBeCloseTo(0.25, 1)
  expect(share(6)).toBeCloseTo(0.5, 1)
  expect(share(7)).toBeCloseTo(0.25, 1)
})

describe('workOut', () => {
  it('shows each term and what the sum has come to', () => {
    expect(workOut([7, 5, -9, 3])).toBe('7+5=12-9=3+3=6')
  })

  it('ends in the answer, with each step right', () => {
    const terms = fc.array(fc.integer({ min: -9, max: 9 }).filter(Boolean), { minLength: 2, maxLength: 9 })
    fc.assert(
      fc.property(terms, (list) => {
        const text = workOut(list)
        const sum = list.reduce((a, b) => a + b, 0)
        expect(judge(text, String(sum))).toMatchObject({ outcome: 'score', score: 1 })
        const steps = text.split('=')
        for (let i = 1; i < steps.length; i++) {
          const before = i === 1 ? steps[0]! : steps[i - 1]!
          const [a, b] = /^(-?[0-9]+)([+-][0-9])$/.exec(before)!.slice(1).map(Number)
          expect(Number.parseInt(steps[i]!, 10)).toBe(a! + b!)
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

  it('is right where it is worked out, and three times in ten where it is not', () => {
    const right = ({ text, item }: (typeof shown)[number]) => {
      const verdict = judge(text, item.groundTruth)
      return verdict.outcome === 'score' && verdict.score === 1
    }
    for (const s of shown) if (!direct(s)) expect(right(s)).toBe(true)
    const guessed = shown.filter(direct)
    expect(guessed.filter(right).length / guessed.length).toBeCloseTo(0.3, 1)
  })

  it('is worked out in full by 38 annotators in a hundred', () => {
    for (const s of shown) if (!direct(s)) expect(s.text).toBe(workOut(s.terms))
    expect(shown.filter(direct).length / shown.length).toBeCloseTo(0.62, 1)
  })

  it('slips by one to three', () => {
    const error = (s: (typeof shown)[number]) => Number(s.text.slice(1)) - Number(s.item.groundTruth)
    expect(new Set(shown.filter(direct).map(error))).toEqual(new Set([-3, -2, -1, 0, 1, 2, 3]))
  })

  it('is the same for the same seed and visit, and not for others', () => {
    const some = items.slice(0, 200)
    const texts = (seed: number, visit: number) => some.map((item) => task.demonstration(item, seed, visit))
    expect(texts(1, 0)).toEqual(texts(1, 0))
    expect(texts(1, 1)).not.toEqual(texts(1, 0))
    expect(texts(2, 0)).not.toEqual(texts(1, 0))
  })
})
