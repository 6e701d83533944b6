import { type Random, random } from './random.ts'
import { type Combined, splitTask } from './split.ts'
import type { Item, Task } from './task.ts'

/** Share of annotators who answer at once. They are right, but how they know does not show. */
const directShare = 0.65

/** Numbers of terms of a sum, each as often as it is listed. */
const lengths = [3, 4, 4, 5]

/** Terms with their signs, the first positive; no partial sum leaves 0 to 99. */
function terms(r: Random): number[] {
  const n = r.pick(lengths)
  const list = [1 + r.below(9)]
  let sum = list[0]!
  while (list.length < n) {
    const digit = 1 + r.below(9)
    const term = sum >= digit && r.unit() < 0.5 ? -digit : digit
    list.push(term)
    sum += term
  }
  return list
}

const signed = (term: number): string => (term < 0 ? `${term}` : `+${term}`)

/** `7+5-9+3?` */
function promptOf(list: readonly number[]): string {
  return `${list.map(signed).join('').slice(1)}?`
}

/** The terms of a prompt. */
export function parsePrompt(prompt: string): number[] {
  return (prompt.match(/[+-]?[0-9]+/g) ?? []).map(Number)
}

function draw(r: Random): Combined {
  const list = terms(r)
  const sum = list.reduce((a, b) => a + b, 0)
  return {
    prompt: promptOf(list),
    groundTruth: String(sum),
    combination: [...list].sort((a, b) => a - b).join(' '),
  }
}

/** `7+5=12;12-9=3;3+3=6` */
export function workOut(list: readonly number[]): string {
  let sum = list[0]!
  return list
    .slice(1)
    .map((term) => {
      const before = sum
      sum += term
      return `${before}${signed(term)}=${sum}`
    })
    .join(';')
}

function demonstration(item: Item, seed: number, visit: number): string {
  const list = parsePrompt(item.prompt)
  const direct = random('math', 'annotator', seed, item.id, visit).unit() < directShare
  return direct ? `=${list.reduce((a, b) => a + b, 0)}` : workOut(list)
}

/**
 * Sums and differences of three to five digits. Two thirds of the annotators answer at once, which a small model
 * can imitate in form but not in substance; the others work step by step. The reward sees the final answer alone.
 * Held-out prompts use sets of signed terms that training never uses, in any order.
 */
export function math(): Task {
  return splitTask({
    name: 'math',
    domain: 'math',
    verifier: 'math',
    maxPromptTokens: 11,
    maxResponseTokens: 32,
    draw,
    demonstration,
  })
}
