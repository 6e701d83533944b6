import { concatMap, type Observable } from 'rxjs'
import { checkpoints, type GradientBatch, updates } from '../topics/index.ts'
import type { Delivery } from './delivery.ts'
import { derive } from './delivery.ts'
import type { Append, Envelope, UpdateSink } from './ports.ts'

/**
 * Applies each gradient batch once, in order, one at a time. The `updates` record, the `checkpoints` record
 * where one was written, and the settled batch commit together; a checkpoint's files are complete and synced
 * before its record is.
 */
export function update(
  sink: UpdateSink,
): (source: Observable<Delivery<Envelope<GradientBatch>>>) => Observable<Delivery<readonly Append[]>> {
  return (source) =>
    source.pipe(concatMap(async (delivery) => derive(delivery, await applyBatch(sink, delivery.value))))
}

/** Applies one gradient batch, or does what a flush asks for; what is to be committed with it. */
export async function applyBatch(
  sink: UpdateSink,
  record: Pick<Envelope<GradientBatch>, 'offset' | 'value'>,
): Promise<Append[]> {
  const batch = record.value
  const { stage, step } = batch
  const after = record.offset + 1
  if (batch.kind === 'flush') {
    const value = await sink.checkpoint({ stage, step, reason: 'stage-end', gradientBatchOffset: after })
    return [{ topic: checkpoints, value }]
  }
  const append: Append[] = [{ topic: updates, value: await sink.apply(batch, record.offset) }]
  if (batch.checkpoint) {
    const value = await sink.checkpoint({ stage, step, reason: 'interval', gradientBatchOffset: after })
    append.push({ topic: checkpoints, value })
  }
  return append
}
