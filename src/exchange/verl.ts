import { type ForeignRollout, type Format, judge, knows } from './foreign.ts'
import { Row } from './row.ts'

/**
 * verl's dump of rollouts (`trainer.rollout_data_dir`, and `validation_data_dir`): `{step}.jsonl`, one rollout a line with `input`,
 * `output`, `gts`, `score`, `step`, and what the reward function returned beside the score. Text only, decoded without special tokens.
 *
 * `verl/trainer/ppo/ray_trainer.py`, `_dump_generations` and `_log_rollout_data` (verl-project/verl). Older versions write no `gts`.
 * The trainer balances its batch by length first, so that the members of a group are spread over their step.
 */
export const verl: Format = {
  name: 'verl',
  summary: 'rollout_data_dir/{step}.jsonl of verl: text, ground truth and score',
  scoredOnly: true,
  read(line) {
    const row = new Row(line)
    const rollout: ForeignRollout = {
      group: row.optional('uid', row.name),
      step: row.optional('step', row.count),
      prompt: row.text('input'),
      response: row.text('output'),
      groundTruth: row.any('gts'),
      reward: { outcome: 'score', score: row.number('score') },
    }
    const extra = row.rest()
    const detail = Object.keys(extra).length > 0 ? { detail: extra } : {}
    return { rollouts: [{ ...rollout, reward: { ...rollout.reward!, ...detail } }], ignored: [] }
  },
  write: (members) =>
    members.map((of) => ({
      ...extrasOf(judge(of)?.detail),
      input: of.rollout.promptText,
      output: of.rollout.responseText,
      gts: knows(of, 'groundTruth') ? (of.rollout.groundTruth ?? null) : null,
      score: of.reward!.score,
      step: of.rollout.step,
      uid: of.rollout.groupId,
    })),
}

/** What a verifier says beside its score stands beside the score there too. */
function extrasOf(detail: unknown): object {
  return typeof detail === 'object' && detail !== null && !Array.isArray(detail) ? detail : {}
}
