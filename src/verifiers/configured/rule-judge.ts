import { verifiers as rules } from '../index.ts'
import type { Judge, Target } from '../pool/index.ts'
import type { Asked } from './kind-judge.ts'

/** Where a pool finds the judge of a built-in rule. */
export function ruleTarget(rule: string): Target {
  return { module: import.meta.url, name: openRuleJudge.name, options: rule }
}

export function openRuleJudge(rule: string): Judge {
  const verifier = rules[rule]!()
  return {
    judge(request) {
      const { response, truth } = request as Asked
      return verifier.judge(response, truth)
    },
  }
}
