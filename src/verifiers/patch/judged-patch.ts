import type { Verdict, Verifier } from '../../../streams/ports.ts'
import type { Rollout } from '../../../topics/index.ts'
import { codeHash } from '../judge.ts'
import type { JudgeVerifier, Question } from '../preference/index.ts'
import { type PatchOptions, patch } from './patch.ts'

/** Criteria for a judge of patches. */
export const patchCriteria = `The answer is a change of code that shall solve the task. The reference is one right change. The answer is good
where it solves the task in full and breaks nothing, however different it is from the reference; it is bad where the problem remains.`

/**
 * What is neither the reference nor unchanged nor malformed gets the score that a judge gives it (arXiv 2512.13607). An error of the judge
 * is an error of the whole, never the lexical score in its place.
 */
export async function byJudge(
  verdict: Verdict,
  question: Question,
  judge: JudgeVerifier,
  signal: AbortSignal,
): Promise<Verdict> {
  if (verdict.outcome !== 'score') return verdict
  const detail = verdict.detail as { case: string }
  if (detail.case !== 'similar') return verdict
  const judged = await judge.ask(question, signal)
  if (judged.outcome === 'failed') return judged
  return {
    outcome: judged.outcome,
    score: judged.score,
    detail: { ...detail, case: 'judged', lexical: verdict.score, judge: judged.detail },
  }
}

/** The reward of {@link patch} with {@link byJudge}, for a run. */
export function judgedPatch(judge: JudgeVerifier, options: Omit<PatchOptions, 'semantic'> = {}): Verifier {
  const lexical = patch(options)
  const name = 'judged-patch'
  return Object.freeze({
    name,
    version: '1',
    codeHash: codeHash([import.meta.url], { patch: lexical.codeHash, judge: judge.codeHash }),
    async verify(rollout: Rollout, signal: AbortSignal): Promise<Verdict> {
      const { promptText: prompt, responseText: response, groundTruth } = rollout
      const { reference } = (groundTruth ?? {}) as { reference?: string }
      const verdict = await byJudge(
        await lexical.verify(rollout, signal),
        { prompt, response, reference },
        judge,
        signal,
      )
      return verdict.outcome === 'failed'
        ? { ...verdict, message: `verifier ${name}: ${verdict.message}` }
        : verdict
    },
  })
}
