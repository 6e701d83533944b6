import { type InstructionTruth, inCase } from '../verifiers/instruction.ts'
import { type Random, random } from './random.ts'
import { type Combined, splitTask } from './split.ts'
import type { Item, Task } from './task.ts'

const words = (
  'ant ape bat bee bug cat cod cow crab crow deer dog dove duck eel elk emu ewe fish flea fly fox frog goat ' +
  'gull hare hawk hen ibex jay kite lamb lark lion lynx mole moth mule newt owl ox pig pony puma ram rat seal ' +
  'slug swan toad tuna vole wasp wolf worm wren yak'
).split(' ')
const starts = ['ok', 'yes', 'hey', 'so']
const joins = ['-', '/', '+', ',', '_']
const cases = ['upper', 'title'] as const
const wraps = ['()', '[]', '<>', '""'] as const
const ends = ['!', '?', '.']

/** Share of annotators who write the words as asked but leave out case, wrap and end mark. */
const hastyShare = 0.65

function asked(r: Random): InstructionTruth {
  const truth: InstructionTruth = { word: r.pick(words), count: 1 + r.below(4) }
  if (r.unit() < 0.35) truth.start = r.pick(starts)
  if (truth.count + (truth.start ? 1 : 0) > 1 && r.unit() < 0.6) truth.join = r.pick(joins)
  // At most three rules beside the count: one finish where start and join are both asked for, else one or two.
  const finish = r.unit() < 0.6 ? r.below(truth.start && truth.join ? 3 : 6) : -1
  if (finish === 0 || finish === 3 || finish === 4) truth.case = r.pick(cases)
  if (finish === 1 || finish === 3 || finish === 5) {
    const pair = r.pick(wraps)
    truth.wrap = [pair[0]!, pair[1]!]
  }
  if (finish === 2 || finish === 4 || finish === 5) truth.end = r.pick(ends)
  return truth
}

/** `fox x3 start ok join - upper wrap [] end !` and a line break, as far as asked. */
function promptOf(t: InstructionTruth): string {
  const parts = [t.word, `x${t.count}`]
  if (t.start !== undefined) parts.push(`start ${t.start}`)
  if (t.join !== undefined) parts.push(`join ${t.join}`)
  if (t.case !== undefined) parts.push(t.case)
  if (t.wrap !== undefined) parts.push(`wrap ${t.wrap.join('')}`)
  if (t.end !== undefined) parts.push(`end ${t.end}`)
  return `${parts.join(' ')}\n`
}

/** The one text that meets every rule. */
export function compose(t: InstructionTruth): string {
  const list = Array.from({ length: t.count }, () => t.word)
  if (t.start !== undefined) list.unshift(t.start)
  const [open, close] = t.wrap ?? ['', '']
  return `${open}${list.map((w) => inCase(w, t.case)).join(t.join ?? ' ')}${t.end ?? ''}${close}`
}

/** Everything that is asked, apart from the word. */
function combination(t: InstructionTruth): string {
  return [t.count, t.start, t.join, t.case, t.wrap?.join(''), t.end].map((v) => v ?? '').join(' ')
}

function draw(r: Random): Combined {
  const truth = asked(r)
  return { prompt: promptOf(truth), groundTruth: truth, combination: combination(truth) }
}

function demonstration(item: Item, seed: number, visit: number): string {
  const truth = item.groundTruth as InstructionTruth
  const hasty = random('instruction', 'annotator', seed, item.id, visit).unit() < hastyShare
  return compose(hasty ? { ...truth, case: undefined, wrap: undefined, end: undefined } : truth)
}

/**
 * Instruction following with checkable rules: write a word a number of times, with a start word, a joining mark,
 * a case, marks around and an end mark as asked. Two thirds of the annotators skip the finish (case, wrap, end),
 * so that imitation alone fails wherever one is asked for. Held-out prompts ask for combinations of rules that
 * training never asks for, with any word.
 */
export function instruction(): Task {
  return splitTask({
    name: 'instruction',
    domain: 'instruction',
    verifier: 'instruction',
    maxPromptTokens: 33,
    maxResponseTokens: 32,
    draw,
    demonstration,
  })
}
