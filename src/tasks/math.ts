import { type Random, random } from './random.ts'
import { type Combined, splitTask } from './split.ts'
import type { Item, Task } from './task.ts'

/** Share of annotators who answer a long sum at once. How they know does not show, and half of the time they slip. */
const directShare = 0.75
const slipShare = 0.5
const slips = [-2, -1, 1, 2]

/** Numbers of terms of a sum, each as often as it is listed. */
const lengths = [3, 4, 5, 5]

/** Terms up to which every annotator works a sum out. */
const shortSum = 3

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
  if (list.length <= shortSum || r.unit() >= directShare) return workOut(list)
  const slip = r.unit() < slipShare ? r.pick(slips) : 0
  return `=${list.reduce((a, b) => a + b, 0) + slip}`
}

/**
 * Sums and differences of three to five digits. Annotators work sums of three terms out step by step; longer ones three
 * quarters of them answer at once, right half of the time. The reward sees the final answer alone. Held-out prompts use
 * sets of signed terms that training never uses, in any order.
 */
export function math(): Task {
  return splitTask({
    name: 'math',
    domain: 'math',
    verifier: 'math',
    maxPromptTokens: 10,
    maxResponseTokens: 21,
    draw,
    demonstration,
  })
}
