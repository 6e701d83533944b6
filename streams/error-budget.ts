import { CascadeError, type GroupOutcome, type RlStage } from '../topics/index.ts'

/**
 * Watches the share of errors among the members of a step. The share is judged once a whole step's worth of members
 * is there, and of one step at a time: a verifier that breaks late must not hide behind a long sound past.
 */
export class ErrorBudget {
  #step = ''
  #members = 0
  #errors = 0

  /** The error that ends the stage's run, `VERIFIER_ERROR_BUDGET`, once there are too many. */
  exceeded(outcome: GroupOutcome, stage: RlStage): CascadeError | undefined {
    const step = `${outcome.stage}/${outcome.step}`
    if (step !== this.#step) {
      this.#step = step
      this.#members = 0
      this.#errors = 0
    }
    this.#members += outcome.members.length
    this.#errors += outcome.members.filter((m) => m.fate === 'error').length
    const enough = this.#members >= stage.prompts * stage.groupSize
    if (!enough || this.#errors <= stage.maxErrorShare * this.#members) return undefined
    return new CascadeError(
      'VERIFIER_ERROR_BUDGET',
      `stage ${stage.name}: ${this.#errors} of ${this.#members} rollouts of step ${outcome.step} ended in an error, more than ` +
        `the share of ${stage.maxErrorShare} that maxErrorShare allows; see the reasons in prompts.${stage.domain}.dlq ` +
        `and rollouts.${stage.domain}.dlq`,
      { context: { stage: stage.name, step: outcome.step, members: this.#members, errors: this.#errors } },
    )
  }
}
