import type { MicroBatchRecord } from '../topics/index.ts'

/** One sequence to train on. */
export interface Row {
  prompt: Int32Array
  response: Int32Array
  /** One a response token: 1 where it carries loss. */
  lossMask: Uint8Array
  /** Weight of each of its tokens in the loss, the normaliser included. */
  weight: number
  oldLogprobs?: Float32Array
}

export interface Plan {
  /** Tokens, padding included, that a micro-batch holds at most; one row is always let in. */
  maxTokens: number
  /** Widths are rounded up to a multiple of this, so that few shapes occur. */
  align: number
}

/**
 * Lays rows out as right-padded rectangles: longest first, so that padding is small. The layout is a pure
 * function of the rows and the plan; the sums of a step depend on it in their last bits, so it is recorded.
 */
export function microBatches(rows: readonly Row[], plan: Plan): MicroBatchRecord[] {
  const order = rows.map((row, i) => ({ row, i, length: row.prompt.length + row.response.length }))
  order.sort((a, b) => b.length - a.length || a.i - b.i)
  const batches: MicroBatchRecord[] = []
  for (let at = 0; at < order.length; ) {
    const cols = Math.max(2, Math.ceil(order[at]!.length / plan.align) * plan.align)
    const count = Math.max(1, Math.min(order.length - at, Math.floor(plan.maxTokens / cols)))
    batches.push(
      rectangle(
        order.slice(at, at + count).map((o) => o.row),
        cols,
      ),
    )
    at += count
  }
  return batches
}

function rectangle(rows: readonly Row[], cols: number): MicroBatchRecord {
  const size = rows.length * cols
  const tokens = new Int32Array(size)
  const lengths = new Int32Array(rows.length)
  const lossMask = new Uint8Array(size)
  const rowWeights = new Float32Array(rows.length)
  const withOld = rows.every((r) => r.oldLogprobs !== undefined)
  const oldLogprobs = withOld ? new Float32Array(size) : undefined
  for (const [r, row] of rows.entries()) {
    const start = r * cols
    tokens.set(row.prompt, start)
    tokens.set(row.response, start + row.prompt.length)
    lossMask.set(row.lossMask, start + row.prompt.length)
    oldLogprobs?.set(row.oldLogprobs!, start + row.prompt.length)
    lengths[r] = row.prompt.length + row.response.length
    rowWeights[r] = row.weight
  }
  return {
    rows: rows.length,
    cols,
    tokens,
    lengths,
    lossMask,
    rowWeights,
    ...(oldLogprobs ? { oldLogprobs } : {}),
  }
}
