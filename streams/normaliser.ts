import type { RlStage } from '../topics/index.ts'

/** A trained response: its advantage, its tokens that carry loss, and its group. */
export interface Weighted {
  group: number
  advantage: number
  tokens: number
}

/**
 * The weight of each token of each response, such that the loss is `-sum w * log pi`.
 *
 * - `batch`: the mean over all tokens of the batch (the default; DAPO's token-level loss, arXiv 2503.14476).
 * - `group`: the mean over each group's tokens, then over groups (arXiv 2512.13607, Eq. 1).
 * - `response`: the mean over each response's tokens, then over responses (GRPO, arXiv 2402.03300).
 * - `constant`: the sum over a fixed number of tokens, B x G x maxTokens (Dr. GRPO, arXiv 2503.20783).
 */
export function tokenWeights(
  responses: readonly Weighted[],
  stage: Pick<RlStage, 'normaliser' | 'prompts' | 'groupSize' | 'maxTokens'>,
): number[] {
  const total = responses.reduce((sum, r) => sum + r.tokens, 0)
  const groups = new Map<number, number>()
  for (const r of responses) groups.set(r.group, (groups.get(r.group) ?? 0) + r.tokens)
  return responses.map((r) => {
    if (r.tokens === 0) return 0
    switch (stage.normaliser) {
      case 'batch':
        return r.advantage / total
      case 'group':
        return r.advantage / (groups.get(r.group)! * groups.size)
      case 'response':
        return r.advantage / (r.tokens * responses.length)
      case 'constant':
        return r.advantage / (stage.prompts * stage.groupSize * stage.maxTokens)
    }
  })
}
