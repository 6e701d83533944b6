import { describe, expect, it } from 'vitest'
import { compose, instruction } from '../../src/tasks/instruction.ts'
import { wording as verifier, type WordingTruth } from '../../src/verifiers/wording.ts'

const task = instruction()
const pool = task.train(1)
const items = Array.from({ length: 20_000 }, (_, i) => pool.item(i))
const truthOf = (item: { groundTruth: unknown }) => item.groundTruth as WordingTruth
const finished = (t: WordingTruth) => Boolean(t.case ?? t.wrap ?? t.end)

it('writes out every rule of the truth in the prompt, and no other', () => {
  const shown = (t: WordingTruth) =>
    `${[
      `${t.word} x${t.count}`,
      t.start && `start ${t.start}`,
      t.join && `join ${t.join}`,
      t.case,
      t.wrap && `wrap ${t.wrap.join('')}`,
      t.end && `end ${t.end}`,
    ]
      .filter(Boolean)
      .join(' ')}\n`
  for (const item of items) expect(item.prompt).toBe(shown(truthOf(item)))
})

it('asks for at most two rules beside the count, and for a mark only between words', () => {
  for (const item of items) {
    const { word: _, count, ...rules } = truthOf(item)
    expect(Object.keys(rules).length).toBeLessThanOrEqual(2)
    if (rules.join) expect(count).toBeGreaterThan(1)
  }
})

it('asks for a finish in just over half of the prompts, and for every kind of it among the held out', () => {
  const share = items.filter((item) => finished(truthOf(item))).length / items.length
  expect(share).toBeGreaterThan(0.5)
  expect(share).toBeLessThan(0.6)
  const held = task.heldOut(0, 256).map(truthOf)
  for (const rule of ['start', 'join', 'case', 'wrap', 'end'] as const)
    expect(held.filter((t) => t[rule] !== undefined).length).toBeGreaterThan(20)
  const heldShare = held.filter(finished).length / held.length
  expect(heldShare).toBeGreaterThan(0.5)
  expect(heldShare).toBeLessThan(0.75)
})

describe('demonstration', () => {
  const { judge } = verifier()
  const shown = items.map((item) => ({ item, text: task.demonstration(item, 1, 0), truth: truthOf(item) }))

  it('is right wherever no finish is asked for', () => {
    for (const { text, truth } of shown)
      if (!finished(truth)) expect(judge(text, truth)).toMatchObject({ outcome: 'score', score: 1 })
  })

  it('lacks the finish, and it alone, from seven annotators in ten', () => {
    const asked = shown.filter(({ truth }) => finished(truth))
    const hasty = asked.filter(({ text, truth }) => text !== compose(truth))
    for (const { text, truth } of hasty) {
      expect(judge(text, { ...truth, case: undefined, wrap: undefined, end: undefined })).toMatchObject({
        score: 1,
      })
      expect(judge(text, truth)).toMatchObject({ outcome: 'score', score: 0 })
    }
    expect(hasty.length / asked.length).toBeCloseTo(0.7, 1)
  })

  it('of a good annotator meets every rule', () => {
    for (const { truth } of shown)
      expect(judge(compose(truth), truth)).toEqual({ outcome: 'score', score: 1, detail: { broken: [] } })
  })

  it('is the same for the same seed and visit, and not for others', () => {
    const asked = items.filter((item) => finished(truthOf(item))).slice(0, 200)
    const texts = (seed: number, visit: number) => asked.map((item) => task.demonstration(item, seed, visit))
    expect(texts(1, 0)).toEqual(texts(1, 0))
    expect(texts(1, 1)).not.toEqual(texts(1, 0))
    expect(texts(2, 0)).not.toEqual(texts(1, 0))
  })
})
