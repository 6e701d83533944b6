import type { Control } from '../topics/index.ts'

/**
 * Which control records count: those of the newest coordinator so far, each once. A coordinator that another has
 * replaced may still get a record out; it has an older epoch and is dropped.
 */
export class Fence {
  #epoch = 0
  #seq = -1

  /** True where the record counts. Records come in the order of the log. */
  admits(record: Pick<Control, 'epoch' | 'seq'>): boolean {
    const { epoch, seq } = record
    if (epoch < this.#epoch || (epoch === this.#epoch && seq <= this.#seq)) return false
    this.#epoch = epoch
    this.#seq = seq
    return true
  }
}
