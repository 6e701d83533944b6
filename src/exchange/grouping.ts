import type { ForeignRollout, Place } from './foreign.ts'
import { RowFault } from './row.ts'

/** A rollout and where it came from. */
export interface Placed {
  readonly rollout: ForeignRollout
  readonly place: Place
}

/** Rows that are complete: groups in the order of their first rows. */
export interface ClosedStep {
  readonly step: number
  readonly groups: readonly (readonly Placed[])[]
}

/** When a step is closed although nothing says that it ends: steps bound what must be held in memory. */
export interface StepLimits {
  /** Rows after which a step without a number ends before the next group. */
  readonly rows: number
  /** The same for a step that its trainer numbered, whose groups may be spread over all of it. */
  readonly numberedRows: number
  readonly bytes: number
  /** Rows of one group beyond which it can be none. */
  readonly groupRows: number
}

export const stepLimits: StepLimits = {
  rows: 1024,
  numberedRows: 32_768,
  bytes: 128 * 1024 * 1024,
  groupRows: 16_384,
}

/**
 * Collects rows into groups and groups into steps. Rows with one group name, or without one with the same prompt, are a group, also where
 * others stand between them, as long as their step is open. Steps are numbered as their trainer did where those numbers rise, else on from
 * the last one, so that they never fall.
 */
export class Grouping {
  readonly #limits: StepLimits
  #groups = new Map<string, Placed[]>()
  #rows = 0
  #bytes = 0
  #theirs: number | undefined
  #step = 0

  constructor(limits: StepLimits = stepLimits) {
    this.#limits = limits
  }

  /**
   * The step that is complete before this row, if one is.
   *
   * @param bytes of the row, roughly
   * @throws RowFault for a row that fits no group
   */
  add(row: Placed, bytes: number): ClosedStep | undefined {
    const { rollout } = row
    const key = keyOf(rollout)
    const closed = this.#ends(rollout.step, key) ? this.end() : undefined
    if (this.#rows === 0) {
      this.#theirs = rollout.step
      this.#step = rollout.step !== undefined && rollout.step > this.#step ? rollout.step : this.#step + 1
    }
    const group = this.#groups.get(key)
    if (!group) this.#groups.set(key, [row])
    else {
      this.#fits(group, rollout)
      group.push(row)
    }
    this.#rows += 1
    this.#bytes += bytes
    return closed
  }

  /** The step that is open, if one is; it is closed then. */
  end(): ClosedStep | undefined {
    if (this.#rows === 0) return undefined
    const closed = { step: this.#step, groups: [...this.#groups.values()] }
    this.#groups = new Map()
    this.#rows = 0
    this.#bytes = 0
    return closed
  }

  #ends(step: number | undefined, key: string): boolean {
    if (this.#rows === 0) return false
    if (step !== this.#theirs) return true
    const { rows, numberedRows, bytes } = this.#limits
    const most = step === undefined ? rows : numberedRows
    return (this.#rows >= most || this.#bytes >= bytes) && !this.#groups.has(key)
  }

  #fits(group: readonly Placed[], { reward }: ForeignRollout): void {
    const { groupRows, bytes } = this.#limits
    if (group.length >= groupRows || this.#bytes >= 8 * bytes) {
      throw new RowFault(
        '(row)',
        `at most ${groupRows} rows of one group`,
        'more: give rows the names of their groups',
      )
    }
    const [first] = group
    const by = first?.rollout.reward
    if (by && reward && (by.verifier !== reward.verifier || by.version !== reward.version)) {
      const got = `${reward.verifier ?? 'none'} ${reward.version ?? ''}`.trim()
      const one = `${by.verifier ?? 'none'} ${by.version ?? ''}`.trim()
      throw new RowFault('verifier', `${one}, as the first row of its group has`, got)
    }
  }
}

function keyOf({ group, prompt, promptTokens }: ForeignRollout): string {
  if (group !== undefined) return `group ${group}`
  return prompt === undefined ? `tokens ${promptTokens?.join(' ') ?? ''}` : `prompt ${prompt}`
}
