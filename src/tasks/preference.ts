import { checkRules, type WordingTruth } from '../verifiers/wording.ts'
import { cases, compose, ends, instruction, joins, starts, words, wraps } from './instruction.ts'
import { type Random, random } from './random.ts'
import type { Item } from './task.ts'

/** A prompt with two responses, of which annotators prefer the first. */
export interface PreferencePair {
  readonly prompt: string
  readonly chosen: string
  readonly rejected: string
}

/** Share of training pairs that an annotator got the wrong way round. Held-out pairs have none. */
const slipShare = 0.05

/** Slips in the better response, each as often as it is listed; the other one has one to three more. */
const slipsOfBetter = [0, 0, 0, 1]

/**
 * One thing written otherwise than asked; unchanged where it does not apply. What is not asked for is added about as often as what is
 * asked for is left out, so that neither length nor looks give a response away without its prompt.
 */
type Slip = (asked: WordingTruth, r: Random) => WordingTruth

const slips: readonly Slip[] = [
  (asked, r) => ({ ...asked, word: other(r, words, asked.word) }),
  (asked, r) => ({ ...asked, count: asked.count + (asked.count > 1 && r.unit() < 0.6 ? -1 : 1) }),
  (asked, r) => ({ ...asked, start: otherOrNone(r, starts, asked.start, 0.9) }),
  (asked, r) => ({ ...asked, join: otherOrNone(r, joins, asked.join, 0.9) }),
  (asked, r) => ({ ...asked, case: otherOrNone(r, cases, asked.case, 0.3) }),
  (asked, r) => {
    const pair = otherOrNone(r, wraps, asked.wrap?.join(''), 0.3)
    return { ...asked, wrap: pair === undefined ? undefined : [pair[0]!, pair[1]!] }
  },
  (asked, r) => ({ ...asked, end: otherOrNone(r, ends, asked.end, 0.3) }),
]

function other<T>(r: Random, list: readonly T[], not: T): T {
  return r.pick(list.filter((one) => one !== not))
}

/** What is written in the place of `asked`; where nothing is asked for, something with the share `added`. */
function otherOrNone<T>(r: Random, list: readonly T[], asked: T | undefined, added: number): T | undefined {
  if (asked === undefined) return r.unit() < added ? r.pick(list) : undefined
  return r.unit() < 0.5 ? undefined : other(r, list, asked)
}

/** Rules that a response meets, of six. */
function met(text: string, asked: WordingTruth): number {
  return Object.values(checkRules(text, asked) ?? {}).filter(Boolean).length
}

function written(asked: WordingTruth, count: number, r: Random): string {
  let truth = asked
  for (let i = 0; i < count; i++) truth = r.pick(slips)(truth, r)
  return compose(truth)
}

/** Two responses to an item of which the first meets more rules. */
function responses({ groundTruth }: Item, r: Random): [better: string, worse: string] {
  const asked = groundTruth as WordingTruth
  for (;;) {
    const count = r.pick(slipsOfBetter)
    const [a, b] = [written(asked, count, r), written(asked, count + 1 + r.below(3), r)]
    const difference = met(a, asked) - met(b, asked)
    if (difference !== 0) return difference > 0 ? [a, b] : [b, a]
  }
}

/**
 * Pairs for training: to prompts of the task `instruction`, two responses each, of which annotators prefer the one that meets more rules
 * of the prompt, bar slips. A pure function of the seed; a larger count only adds to a smaller one.
 */
export function trainingPairs(seed: number, count: number): PreferencePair[] {
  const pool = instruction().train(seed)
  return Array.from({ length: count }, (_, i) => {
    const item = pool.item(i % pool.size)
    const r = random('preference', 'train', seed, i)
    const [better, worse] = responses(item, r)
    const [chosen, rejected] = r.unit() < slipShare ? [worse, better] : [better, worse]
    return { prompt: item.prompt, chosen, rejected }
  })
}

/** Different prompts of the held-out pairs; there are few more. */
const heldOutPrompts = 512

/** Pairs without slips, to prompts that ask for combinations of rules which the training of no seed ever asks for. */
export function heldOutPairs(seed: number, count: number): PreferencePair[] {
  const items = instruction().heldOut(seed, heldOutPrompts)
  return Array.from({ length: count }, (_, i) => {
    const item = items[i % heldOutPrompts]!
    const [chosen, rejected] = responses(item, random('preference', 'held-out', seed, i))
    return { prompt: item.prompt, chosen, rejected }
  })
}
