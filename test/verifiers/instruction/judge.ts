import { instruction } from '../../../src/verifiers/instruction/index.ts'

const verifier = instruction()

/** Whether a response follows one instruction; throws the message of a failed verdict. */
export function judgeOne(
  id: string,
  kwargs: Record<string, unknown> | null,
  response: string,
  mode: 'strict' | 'loose' = 'strict',
): boolean {
  const verdict = verifier.judge(response, { prompt: '', instructions: [{ id, kwargs }], mode })
  if (verdict.outcome === 'failed') throw new Error(verdict.message)
  return verdict.score === 1
}
