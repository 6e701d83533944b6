import { map, type OperatorFunction } from 'rxjs'
import { type Delivery, derive } from './delivery.ts'

/** Another value for each delivery; positions and credit go with it. What `project` throws is the stream's error. */
export function mapDelivery<A, B>(project: (value: A) => B): OperatorFunction<Delivery<A>, Delivery<B>> {
  return map((delivery) => derive(delivery, project(delivery.value)))
}
