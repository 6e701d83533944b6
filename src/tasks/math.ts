import { type Random, random } from './random.ts'
import { type Combined, splitTask } from './split.ts'
import type { Item, Task } from './task.ts'

/** Share of annotators who answer a long sum at once. They are right, but how they know does not show. */
const directShare = 0.75

/** Numbers of terms of a sum, each as often as it is listed. */
const lengths = [3, 4, 5, 5]

/** Terms up to which every annotator works a sum out. */
const shortSum = 3

/** Digits with their signs, the first positive. */
function terms(r: Random): number[] {
  const n = r.pick(lengths)
  const list = [1 + r.below(9)]
  while (list.length < n) list.push((1 + r.below(9)) * (r.unit() < 0.5 ? -1 : 1))
  return list
}

/** On the clock of ten hours: 8 + 5 is 3, 2 - 7 is 5. */
const wrapped = (sum: number): number => ((sum % 10) + 10) % 10

const signed = (term: number): string => (term < 0 ? `${term}` : `+${term}`)

/** `7+5-9+3?` */
function promptOf(list: readonly number[]): string {
  return `${list.map(signed).join('').slice(1)}?`
}

/** The terms of a prompt. */
export function parsePrompt(prompt: string): number[] {
  return (prompt.match(/[+-]?[0-9]+/g) ?? []).map(Number)
}

const answerOf = (list: readonly number[]): string => String(wrapped(list.reduce((a, b) => a + b, 0)))

function draw(r: Random): Combined {
  const list = terms(r)
  return {
    prompt: promptOf(list),
    groundTruth: answerOf(list),
    combination: [...list].sort((a, b) => a - b).join(' '),
  }
}

/** `7+5=2-9=3+3=6`: each term in turn, and where the hand has come to. */
export function workOut(list: readonly number[]): string {
  let hand = list[0]!
  const steps = list.slice(1).map((term) => {
    hand = wrapped(hand + term)
    return `${signed(term)}=${hand}`
  })
  return `${list[0]}${steps.join('')}`
}

function demonstration(item: Item, seed: number, visit: number): string {
  const list = parsePrompt(item.prompt)
  const direct =
    list.length > shortSum && random('math', 'annotator', seed, item.id, visit).unit() < directShare
  return direct ? `=${answerOf(list)}` : workOut(list)
}

/**
 * Clock arithmetic: three to five moves of the hand of a ten-hour clock. Annotators work three moves out step by step; of
 * more, three quarters of them tell the end at once, which a small model can imitate in form but not in substance. The
 * reward sees the final answer alone. Held-out prompts use sets of signed terms that training never uses, in any order.
 */
export function math(): Task {
  return splitTask({
    name: 'math',
    domain: 'math',
    verifier: 'math',
    maxPromptTokens: 10,
    maxResponseTokens: 17,
    draw,
    demonstration,
  })
}
