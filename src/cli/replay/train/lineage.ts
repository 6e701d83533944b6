import { createHash } from 'node:crypto'
import type { BatchClosed } from '../../../../topics/index.ts'

/** A step as the run closed it whose rollouts are trained on again. */
export interface PlannedStep {
  readonly step: number
  /** The version that sampled its rollouts. */
  readonly baseVersion: number
  readonly version: number
  readonly opens: boolean
  /** Fields of the stage that were set for it. */
  readonly settings?: Record<string, number> | undefined
  /** Of its groups: {@link digestOf}. */
  readonly digest: string
}

/** Which groups a step closed with, in their order, their rollouts, rewards and advantages: what its update depends on besides weights. */
export function digestOf({ groups }: Pick<BatchClosed, 'groups'>): string {
  const hash = createHash('sha256')
  for (const g of groups) hash.update(`${g.groupId}:${g.hash}\n`)
  return hash.digest('hex')
}

export function plannedStep(closed: BatchClosed): PlannedStep {
  const { step, baseVersion, version, opens, settings } = closed
  return { step, baseVersion, version, opens, ...(settings ? { settings } : {}), digest: digestOf(closed) }
}

/**
 * How far the weights in training are from those of the run that sampled the rollouts. As long as every step closes as the run closed it,
 * both are the same, bit for bit, and the training is on-policy. From the first that does not, they go different ways.
 */
export class Lineage {
  /** The run's version that the weights were last the same as. */
  #fork: number
  /** Updates since then. */
  #own = 0
  readonly #exact: boolean

  /** @param exact this process computes the same bits as the run did, from the checkpoint on which the run went on */
  constructor(fork: number, exact: boolean) {
    this.#fork = fork
    this.#exact = exact
  }

  /** Updates, at most, since the policy of version `sampler` and the one in training were the same: 0 where they still are. */
  staleness(sampler: number): number {
    if (sampler < this.#fork) return this.#fork - sampler + this.#own
    return Math.max(this.#own, sampler - this.#fork)
  }

  /** A step is closed, `now`, of which the run had made `was`. */
  closed(was: PlannedStep, now: BatchClosed): void {
    const updated = now.version > now.baseVersion
    const same =
      this.#exact &&
      this.staleness(was.baseVersion) === 0 &&
      updated === was.version > was.baseVersion &&
      now.opens === was.opens &&
      digestOf(now) === was.digest
    if (same) this.#fork = was.version
    else if (updated) this.#own += 1
  }
}
