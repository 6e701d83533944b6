import type { RuleVerifier } from './judge.ts'
import { patch } from './patch/index.ts'
import { sum } from './sum.ts'
import { wording } from './wording.ts'

export type { RuleVerifier } from './judge.ts'

/** Every verifier, by the name that prompts and tasks carry. */
export const verifiers: Readonly<Record<string, () => RuleVerifier>> = {
  patch,
  sum,
  wording,
}
