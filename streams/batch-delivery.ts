import type { OperatorFunction } from 'rxjs'
import { CascadeError } from '../topics/index.ts'
import { type Delivery, fanIn } from './delivery.ts'
import { operate } from './operate.ts'

/**
 * Every `size` values as one, in order of arrival; the rest as a shorter one at the end. A batch settles what all
 * of its members settle and holds their credit, so the window must have room for at least one batch.
 */
export function batchDelivery<A>(size: number): OperatorFunction<Delivery<A>, Delivery<readonly A[]>> {
  if (!(Number.isInteger(size) && size >= 1)) {
    throw new CascadeError('CONFIG_INVALID', `batch: expected a size of at least 1, got ${size}`)
  }
  return operate((out) => {
    let open: Delivery<A>[] = []
    const emit = () => {
      const batch = open
      open = []
      out.next(
        fanIn(
          batch,
          batch.map((d) => d.value),
        ),
      )
    }
    return {
      next(delivery) {
        if (open.push(delivery) === size) emit()
      },
      complete() {
        if (open.length > 0) emit()
        out.complete()
      },
    }
  })
}
