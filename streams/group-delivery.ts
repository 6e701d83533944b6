import type { OperatorFunction } from 'rxjs'
import { CascadeError } from '../topics/index.ts'
import { Carried, type Delivery, rootOf } from './delivery.ts'
import { operate } from './operate.ts'
import type { Position } from './ports.ts'

export interface GroupOptions<A> {
  /** Members of a group. */
  size: number
  key: (value: A) => string | number
  /** Groups that may be open at once: the bound of the operator's state. */
  maxOpen: number
}

interface Open<A> {
  readonly values: A[]
  readonly positions: Position[]
}

/**
 * Collects `size` values of a key, in any order among keys, and lets the key go. A member gives its credit back as it
 * enters the state, since a group's last member may lie beyond the window; the one that completes its group lends its
 * credit to the output, so that finished groups are bounded by the window as well. Groups that are open at the end are
 * not put out: unsettled, they come again.
 *
 * Errors: `CREDIT_EXCEEDED` where one group more than `maxOpen` would be open.
 */
export function groupDelivery<A>(
  options: GroupOptions<A>,
): OperatorFunction<Delivery<A>, Delivery<readonly A[]>> {
  const { size, key, maxOpen } = options
  if (!(Number.isInteger(size) && size >= 1)) {
    throw new CascadeError('CONFIG_INVALID', `group: expected a size of at least 1, got ${size}`)
  }
  return operate((out) => {
    const groups = new Map<string | number, Open<A>>()
    return {
      next(delivery) {
        const k = key(delivery.value)
        let group = groups.get(k)
        if (!group) {
          if (groups.size >= maxOpen) throw tooMany(maxOpen)
          group = { values: [], positions: [] }
          groups.set(k, group)
        }
        group.values.push(delivery.value)
        for (const p of delivery.positions) group.positions.push(p)
        if (group.values.length < size) {
          delivery.release()
          return
        }
        groups.delete(k)
        out.next(new Carried(group.values, group.positions, delivery.bytes, rootOf(delivery)))
      },
    }
  })
}

export function tooMany(maxOpen: number): CascadeError {
  return new CascadeError(
    'CREDIT_EXCEEDED',
    `group: expected at most ${maxOpen} open groups, got one more; whoever admits work must keep fewer in flight`,
  )
}
