import { inCase, type WordingTruth } from '../verifiers/wording.ts'
import { type Random, random } from './random.ts'
import { type Combined, splitTask } from './split.ts'
import type { Item, Task } from './task.ts'

export const words = 'ant bat bee cat cow dog eel elk emu ewe fox gnu hen jay koi owl pig pup ram yak'.split(
  ' ',
)
export const starts = ['ok', 'yes', 'hey', 'so']
export const joins = ['-', '/', '+', ',', '_']
export const cases = ['upper', 'title'] as const
export const wraps = ['()', '[]', '<>', '""'] as const
export const ends = ['!', '?', '.']

/** Share of annotators who write the words as asked but leave out case, wrap and end mark. */
const hastyShare = 0.7

type Rule = 'start' | 'join' | 'case' | 'wrap' | 'end'

/** How often prompts ask for which rules beside the count: at most two. */
const mixes: readonly (readonly Rule[])[] = [
  ...times(3, [], ['start'], ['join'], ['case'], ['wrap'], ['end']),
  ...times(18, ['start', 'join']),
  ...times(3, ['start', 'case'], ['start', 'wrap'], ['start', 'end']),
  ...times(3, ['join', 'case'], ['join', 'wrap'], ['join', 'end']),
  ...times(3, ['case', 'wrap'], ['case', 'end'], ['wrap', 'end']),
]

function times(n: number, ...mixes: (readonly Rule[])[]): (readonly Rule[])[] {
  return mixes.flatMap((mix) => Array.from({ length: n }, () => mix))
}

function asked(r: Random): WordingTruth {
  const rules = r.pick(mixes)
  const joined = rules.includes('join')
  const truth: WordingTruth = { word: r.pick(words), count: joined ? 2 + r.below(2) : 1 + r.below(3) }
  if (rules.includes('start')) truth.start = r.pick(starts)
  if (joined) truth.join = r.pick(joins)
  if (rules.includes('case')) truth.case = r.pick(cases)
  if (rules.includes('wrap')) {
    const pair = r.pick(wraps)
    truth.wrap = [pair[0]!, pair[1]!]
  }
  if (rules.includes('end')) truth.end = r.pick(ends)
  return truth
}

/** `fox x3 start ok join - upper wrap [] end !` and a line break; of the rules those that are asked for. */
function promptOf(t: WordingTruth): string {
  const parts = [t.word, `x${t.count}`]
  if (t.start !== undefined) parts.push(`start ${t.start}`)
  if (t.join !== undefined) parts.push(`join ${t.join}`)
  if (t.case !== undefined) parts.push(t.case)
  if (t.wrap !== undefined) parts.push(`wrap ${t.wrap.join('')}`)
  if (t.end !== undefined) parts.push(`end ${t.end}`)
  return `${parts.join(' ')}\n`
}

/** The one text that meets every rule. */
export function compose(t: WordingTruth): string {
  const list = Array.from({ length: t.count }, () => t.word)
  if (t.start !== undefined) list.unshift(t.start)
  const [open, close] = t.wrap ?? ['', '']
  return `${open}${list.map((w) => inCase(w, t.case)).join(t.join ?? ' ')}${t.end ?? ''}${close}`
}

/** Count and rules, whatever the word, where two rules meet: each alone is for training to show. */
function combination(t: WordingTruth): string | undefined {
  const rules = [t.start, t.join, t.case, t.wrap?.join(''), t.end]
  if (rules.filter((rule) => rule !== undefined).length < 2) return undefined
  return [t.count, ...rules].map((v) => v ?? '').join(' ')
}

function draw(r: Random): Combined {
  const truth = asked(r)
  return { prompt: promptOf(truth), groundTruth: truth, combination: combination(truth) }
}

function demonstration(item: Item, seed: number, visit: number): string {
  const truth = item.groundTruth as WordingTruth
  const hasty = random('instruction', 'annotator', seed, item.id, visit).unit() < hastyShare
  return compose(hasty ? { ...truth, case: undefined, wrap: undefined, end: undefined } : truth)
}

/**
 * Instruction following with checkable rules: write a word a number of times, with a start word, a joining mark,
 * a case, marks around and an end mark as asked. Seven in ten annotators skip the finish (case, wrap, end),
 * so that imitation alone fails wherever one is asked for. Held-out prompts ask for combinations of rules that
 * training never asks for, with any word.
 */
export function instruction(): Task {
  return splitTask({
    name: 'instruction',
    domain: 'instruction',
    verifier: 'wording',
    maxPromptTokens: 25,
    maxResponseTokens: 17,
    draw,
    split: 5,
    demonstration,
  })
}
