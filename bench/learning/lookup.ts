import { tokenizer } from '../../src/model/tokenizer/index.ts'
import { tasks } from '../../src/tasks/index.ts'
import { compose } from '../../src/tasks/instruction.ts'
import { parsePrompt, workOut } from '../../src/tasks/math.ts'
import { createPromptSource } from '../../src/tasks/source.ts'
import { verifiers } from '../../src/verifiers/index.ts'
import { wordingTruth } from '../../src/verifiers/wording.ts'

/** Training prompts that are looked through: about as many as a run's warm start and one RL stage meet. */
const size = 20_000

/**
 * Share of held-out prompts that the ideal answer to the nearest training prompt (by edit distance, the first of equals)
 * answers: what remembering alone could reach.
 */
export function lookup(domain: string): number {
  const pool = tasks[domain]!().train(1)
  const known = new Map<string, unknown>()
  for (let i = 0; i < size; i++) {
    const { prompt, groundTruth } = pool.item(i)
    known.set(prompt, groundTruth)
  }
  const heldOut = createPromptSource({ seed: 1, tokenizer }).heldOut(domain, 256)
  const { judge } = verifiers[domain]!()
  let passed = 0
  for (const { promptText, groundTruth } of heldOut) {
    let nearest = ''
    let least = Number.POSITIVE_INFINITY
    for (const prompt of known.keys()) {
      const d = distance(promptText, prompt, least)
      if (d < least) [nearest, least] = [prompt, d]
    }
    const verdict = judge(ideal(domain, nearest, known.get(nearest)), groundTruth)
    if (verdict.outcome === 'score') passed += verdict.score
  }
  return passed / heldOut.length
}

function ideal(domain: string, prompt: string, truth: unknown): string {
  return domain === 'math' ? workOut(parsePrompt(prompt)) : compose(wordingTruth.parse(truth))
}

/** Levenshtein distance, or `cap` where it is not below. */
function distance(a: string, b: string, cap: number): number {
  if (Math.abs(a.length - b.length) >= cap) return cap
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, swap))
    }
    if (Math.min(...next) >= cap) return cap
    row = next
  }
  return row[b.length]!
}
