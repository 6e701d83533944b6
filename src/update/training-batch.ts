import type { GradientBatch } from '../../topics/index.ts'
import type { MicroBatch } from '../model/train/batch.ts'

/** A recorded rectangle as the engine takes it: padding and weights a token instead of lengths and weights a row. */
export function trainingBatch(record: GradientBatch['microBatches'][number]): MicroBatch {
  const { rows, cols, tokens, lossMask, lengths, rowWeights, oldLogprobs, refLogprobs } = record
  const valid = new Uint8Array(rows * cols)
  const weights = new Float32Array(rows * cols)
  for (let r = 0; r < rows; r++) {
    valid.fill(1, r * cols, r * cols + lengths[r]!)
    weights.fill(rowWeights[r]!, r * cols, (r + 1) * cols)
  }
  return {
    rows,
    cols,
    tokens,
    valid,
    lossMask,
    weights,
    ...(oldLogprobs ? { oldLogprobs } : {}),
    ...(refLogprobs ? { refLogprobs } : {}),
  }
}
