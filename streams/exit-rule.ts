import type { RlStage } from '../topics/index.ts'

/** What the exit rules of a stage look at, of one closed step. */
export interface StepFact {
  /** Mean over all members with a reward; absent where none had one. */
  readonly reward: number | undefined
  /** Share of responses that were cut off at the length cap. */
  readonly truncated: number | undefined
}

/** Steps that the rules of a stage look back at. */
export function lookBack({ exit }: Pick<RlStage, 'exit'>): number {
  return exit ? 2 * exit.window : 0
}

/**
 * Why a stage ends before its last step, if it does: `clip share`, `plateau`, `reward` or `time`, the first that holds in this order. Pure in what
 * the log has of the stage's closed steps, so that a restart decides the same.
 *
 * @param recent the latest {@link lookBack} closed steps, oldest first
 * @param seconds from the stage's begin to the close of its latest step
 */
export function exitReason(
  { exit }: Pick<RlStage, 'exit'>,
  { closed, recent, seconds }: { closed: number; recent: readonly StepFact[]; seconds: number },
): string | undefined {
  if (!exit || closed < Math.max(1, exit.minSteps)) return undefined
  const { window, clipShare, plateau, reward } = exit
  const last = recent.slice(-window)
  const before = recent.slice(0, -window).slice(-window)
  const whole = last.length === window
  const truncated = mean(last.map((s) => s.truncated))
  if (whole && clipShare !== undefined && truncated !== undefined && truncated <= clipShare)
    return 'clip share'
  const now = mean(last.map((s) => s.reward))
  const then = before.length === window ? mean(before.map((s) => s.reward)) : undefined
  if (plateau !== undefined && now !== undefined && then !== undefined && now - then <= plateau)
    return 'plateau'
  if (whole && reward !== undefined && now !== undefined && now >= reward) return 'reward'
  if (exit.seconds !== undefined && seconds >= exit.seconds) return 'time'
  return undefined
}

/** Of those that are known. */
function mean(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((v) => v !== undefined)
  return known.length === 0 ? undefined : known.reduce((sum, v) => sum + v, 0) / known.length
}
