import { z } from 'zod'
import type { Verdict } from '../../streams/ports.ts'
import { badTruth, type RuleVerifier, ruleVerifier } from './judge.ts'

/** A whole number in decimal digits, without leading zeros. */
export const mathTruth = z.string().regex(/^(0|-?[1-9][0-9]*)$/, 'expected a whole number in decimal digits')

/** What stands behind the last `=`, spaces apart, where that is a whole number; leading zeros are allowed. */
const finalAnswer = /=\s*(-?[0-9]+)\s*$/

/** The final answer of a worked response, or undefined where there is none. */
export function parseAnswer(text: string): bigint | undefined {
  const digits = finalAnswer.exec(text)?.[1]
  return digits === undefined ? undefined : BigInt(digits)
}

function judge(text: string, groundTruth: unknown): Verdict {
  const truth = mathTruth.safeParse(groundTruth)
  if (!truth.success) return badTruth('sum', truth.error.issues[0]!.message)
  const answer = parseAnswer(text)
  if (answer === undefined) return { outcome: 'unparsable', score: 0 }
  return {
    outcome: 'score',
    score: answer === BigInt(truth.data) ? 1 : 0,
    detail: { answer: answer.toString() },
  }
}

/** Scores 1 where the response ends in `=` and exactly the right whole number, however it came there. */
export function sum(): RuleVerifier {
  const samples = {
    good: [{ response: '7+5=12;12-9=3', truth: '3' }],
    bad: [
      { response: '=4', truth: '3' },
      { response: '3', truth: '3' },
    ],
  }
  return ruleVerifier({ name: 'sum', version: '1', sources: [import.meta.url], samples, judge })
}
