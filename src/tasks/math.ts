import { type Random, random } from './random.ts'
import { type Combined, splitTask } from './split.ts'
import type { Item, Task } from './task.ts'

/** Share of annotators who answer at once. How they know does not show, and most of the time they slip. */
const directShare = 0.62
const slipShare = 0.7
const slips = [-3, -2, -1, 1, 2, 3]

/** Numbers of terms of a sum, each as often as it is listed. */
const lengths = [4, 6, 6, 7]

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

/** `7+5=12-9=3+3=6`: each term in turn, and what the sum has come to. */
export function workOut(list: readonly number[]): string {
  let sum = list[0]!
  const steps = list.slice(1).map((term) => {
    sum += term
    return `${signed(term)}=${sum}`
  })
  return `${list[0]}${steps.join('')}`
}

function demonstration(item: Item, seed: number, visit: number): string {
  const list = parsePrompt(item.prompt)
  const r = random('math', 'annotator', seed, item.id, visit)
  if (r.unit() >= directShare) return workOut(list)
  const slip = r.unit() < slipShare ? r.pick(slips) : 0
  return `=${list.reduce((a, b) => a + b, 0) + slip}`
}

/**
 * Sums and differences of four to seven digits. Most annotators answer at once, right less than a third of the time; the others
 * work the sum out step by step. The reward sees the final answer alone. Held-out prompts use sets of signed terms that training
 * never uses, in any order.
 */
export function math(): Task {
  return splitTask({
    name: 'math',
    domain: 'math',
    verifier: 'sum',
    maxPromptTokens: 14,
    maxResponseTokens: 31,
    draw,
    demonstration,
  })
}
