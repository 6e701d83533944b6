import type { StageSpec } from '../topics/index.ts'

/** The learning rate of a step, 1-based: linear warm-up, then constant, cosine or linear to 0 after the last step. */
export function learningRate(
  stage: Pick<StageSpec, 'lr' | 'warmup' | 'schedule' | 'steps'>,
  step: number,
): number {
  if (step <= stage.warmup) return (stage.lr * step) / stage.warmup
  if (stage.schedule === 'constant') return stage.lr
  const progress = (step - 1 - stage.warmup) / Math.max(1, stage.steps - stage.warmup)
  return stage.schedule === 'linear'
    ? stage.lr * (1 - progress)
    : stage.lr * 0.5 * (1 + Math.cos(Math.PI * progress))
}
