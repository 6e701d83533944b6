import { describe, expect, test } from 'vitest'
import { instruction } from '../../src/tasks/instruction.ts'
import { heldOutPairs, type PreferencePair, trainingPairs } from '../../src/tasks/preference.ts'
import { checkRules, type WordingTruth } from '../../src/verifiers/wording.ts'

const train = trainingPairs(1, 4000)
const held = heldOutPairs(1, 1024)

/** What the prompts of both sides ask for. */
const truths = new Map<string, WordingTruth>()
const pool = instruction().train(1)
for (let i = 0; i < train.length; i++) {
  truths.set(pool.item(i).prompt, pool.item(i).groundTruth as WordingTruth)
}
for (const item of instruction().heldOut(1, 512)) truths.set(item.prompt, item.groundTruth as WordingTruth)

function met(prompt: string, response: string): number {
  const rules = checkRules(response, truths.get(prompt)!)
  return Object.values(rules ?? {}).filter(Boolean).length
}
const isRight = ({ prompt, chosen, rejected }: PreferencePair) => met(prompt, chosen) > met(prompt, rejected)
const rulesOf = (prompt: string) => prompt.slice(prompt.indexOf(' '))

test('a pair is a pure function of seed and place, and a larger count only adds', () => {
  expect(trainingPairs(1, 50)).toEqual(train.slice(0, 50))
  expect(heldOutPairs(1, 50)).toEqual(held.slice(0, 50))
  expect(trainingPairs(2, 50)).not.toEqual(train.slice(0, 50))
  expect(heldOutPairs(2, 50)).not.toEqual(held.slice(0, 50))
})

test('the chosen response meets more rules: always where held out, bar one in twenty for training', () => {
  expect(held.filter((pair) => !isRight(pair))).toEqual([])
  const wrong = train.filter((pair) => !isRight(pair)).length / train.length
  expect(wrong).toBeGreaterThan(0.03)
  expect(wrong).toBeLessThan(0.07)
})

test('no held-out prompt asks for what training asks for', () => {
  const trained = new Set([...train, ...trainingPairs(2, 4000)].map(({ prompt }) => rulesOf(prompt)))
  expect(held.filter(({ prompt }) => trained.has(rulesOf(prompt)))).toEqual([])
})

describe.each([
  ['training', train],
  ['held-out', held],
])('%s pairs', (_, pairs) => {
  test('are not told apart by length', () => {
    const points = pairs.map(({ chosen, rejected }) => Math.sign(chosen.length - rejected.length))
    const longer = points.reduce((sum, p) => sum + (p + 1) / 2, 0) / pairs.length
    expect(longer).toBeGreaterThan(0.42)
    expect(longer).toBeLessThan(0.58)
  })

  test('differ in every rule', () => {
    const broken = new Set(
      pairs.flatMap(({ prompt, rejected }) =>
        Object.entries(checkRules(rejected, truths.get(prompt)!)!).flatMap(([rule, ok]) =>
          ok ? [] : [rule],
        ),
      ),
    )
    expect([...broken].sort()).toEqual(['case', 'end', 'join', 'start', 'words', 'wrap'])
  })

  test('hold two different responses', () => {
    expect(pairs.filter(({ chosen, rejected }) => chosen === rejected)).toEqual([])
  })
})
