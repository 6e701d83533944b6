import { instruction } from './instruction.ts'
import type { RuleVerifier } from './judge.ts'
import { math } from './math.ts'

export type { RuleVerifier } from './judge.ts'

/** Every verifier, by the name that prompts and tasks carry. */
export const verifiers: Readonly<Record<string, () => RuleVerifier>> = {
  instruction,
  math,
}
