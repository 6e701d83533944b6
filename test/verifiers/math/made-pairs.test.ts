import { describe, expect, test } from 'vitest'
import { classes, forms } from '../../../bench/rescore-math/forms.ts'
import { pairs } from '../../../bench/rescore-math/pairs.ts'
import { math } from '../../../src/verifiers/math/index.ts'

const all = [...pairs(6_000, 500)]

test('pairs are distinct, the same for the same seed, and about half of them wrong', () => {
  expect(new Set(all.map(({ answer, response }) => JSON.stringify([answer, response]))).size).toBe(6_000)
  expect([...pairs(700, 500)].slice(0, 700)).toEqual(all.slice(0, 700))
  expect([...pairs(10, 500, 2)]).not.toEqual(all.slice(0, 10))
  expect(all.filter(({ right }) => right).length / all.length).toBeCloseTo(0.5, 1)
  for (const name of classes) {
    const own = all.filter((pair) => pair.class === name)
    expect(own.length / all.length).toBeCloseTo(name === 'numbers' ? 0.5 : 0.25, 1)
    expect(new Set(own.map(({ form }) => form))).toEqual(new Set(Object.keys(forms[name])))
  }
})

describe.each(classes)('%s are judged as they were made:', (name) => {
  const verifier = math()
  test.each(Object.keys(forms[name]))('%s', (form) => {
    const given = all.filter((pair) => pair.class === name && pair.form === form)
    const wrong = given.filter(({ response, answer, right }) => {
      const verdict = verifier.judge(response, answer)
      return verdict.outcome !== 'score' || (verdict.score === 1) !== right
    })
    expect(given.length).toBeGreaterThan(20)
    expect(wrong).toEqual([])
  })
})
