import { lastValueFrom } from 'rxjs'
import { createCredit } from '../../streams/credit.ts'
import { pack } from '../../streams/pack.ts'
import { sink } from '../../streams/sink.ts'
import { source } from '../../streams/source.ts'
import { control, type GradientBatch, gradientBatches, type StageSpec } from '../../topics/index.ts'
import type { MemoryLog } from './memory-log.ts'

/** Every gradient batch of a log, once all its control records are packed. */
export async function packed(log: MemoryLog, stage: StageSpec, maxTokens = 1024): Promise<GradientBatch[]> {
  const credit = createCredit({ records: 4, bytes: 1 << 20 })
  const plan = { maxTokens, align: 1 }
  const flow = source(log, control, { group: 'pack', credit, until: 'end' })
  const to = sink(log)
  await lastValueFrom(flow.pipe(pack(log, { stages: [stage], seed: 7, plan }), to), {
    defaultValue: undefined,
  })
  return log.values(gradientBatches)
}

/** Every row of a batch by its real tokens. */
export function rowsOf(batch: GradientBatch) {
  return batch.microBatches.flatMap((m) =>
    Array.from({ length: m.rows }, (_, r) => {
      const at = r * m.cols
      const end = at + m.lengths[r]!
      return {
        tokens: Array.from(m.tokens.subarray(at, end)),
        mask: Array.from(m.lossMask.subarray(at, end)),
        weight: m.rowWeights[r]!,
        old: m.oldLogprobs && Array.from(m.oldLogprobs.subarray(at, end)),
      }
    }),
  )
}
