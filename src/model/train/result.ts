import type { StatName } from '../graph/loss.ts'
import type { Tensors } from './sessions.ts'

/** Means are over the trained tokens of the step. */
export interface StepResult {
  /** Policy loss plus KL term, as weighted by the batch: a sum over tokens. */
  loss: number
  /** Mean of `-log p`, nats, at the step's temperature: what a supervised step lowers. */
  nll: number
  /** Global gradient norm before clipping. */
  gradNorm: number
  /** Nats, at the step's temperature. */
  entropy: number
  /** Mean of the k3 estimate; 0 without reference log-probabilities. */
  kl: number
  /** Share of tokens whose gradient the ratio bounds cut off. */
  clipFraction: number
  ratioMean: number
  ratioMax: number
  /** Trained tokens. */
  tokens: number
}

/** A number from each of the runs that report it. */
export function reported(results: readonly Tensors[], name: string): number[] {
  return results.flatMap((r) => (r[name] ? [Number((r[name].data as Float32Array)[0])] : []))
}

/** The result of a step from what its runs report; sums over its micro-batches. */
export function summarize(results: readonly Tensors[], tokens: number): StepResult {
  const values = (name: StatName | 'grad_norm') => reported(results, name)
  const sum = (name: StatName) => values(name).reduce((a, b) => a + b, 0)
  return {
    loss: sum('loss'),
    nll: -sum('log_prob') / tokens,
    gradNorm: values('grad_norm')[0]!,
    entropy: sum('entropy') / tokens,
    kl: sum('kl') / tokens,
    clipFraction: sum('clipped') / tokens,
    ratioMean: sum('ratio') / tokens,
    ratioMax: Math.max(...values('ratio_max')),
    tokens,
  }
}
