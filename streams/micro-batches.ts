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
 * Lays rows out as right-padded rectangles: longest first, so that padding is small, and rows of one prompt together, so that the
 * update computes it once. The layout is a pure function of the rows and the plan; the sums of a step depend on it in their last
 * bits, so it is recorded.
 */
export function microBatches(rows: readonly Row[], plan: Plan): MicroBatchRecord[] {
  const batches: MicroBatchRecord[] = []
  let open: Row[] = []
  let cols = 2
  const widthWith = (row: Row) => Math.max(cols, Math.ceil(length(row) / plan.align) * plan.align)
  const closeUnlessRoomFor = (longest: Row, count: number) => {
    if (open.length === 0 || (open.length + count) * widthWith(longest) <= plan.maxTokens) return
    batches.push(rectangle(open, cols))
    open = []
    cols = 2
  }
  for (const family of families(rows)) {
    closeUnlessRoomFor(family[0]!, family.length)
    for (const row of family) {
      closeUnlessRoomFor(row, 1)
      open.push(row)
      cols = widthWith(row)
    }
  }
  if (open.length > 0) batches.push(rectangle(open, cols))
  return batches
}

/** Rows of one prompt, longest first; those with the longest row first; else in the order given. */
function families(rows: readonly Row[]): Row[][] {
  const byPrompt = new Map<string, Row[]>()
  for (const row of rows) {
    const key = row.prompt.join()
    const family = byPrompt.get(key)
    if (family) family.push(row)
    else byPrompt.set(key, [row])
  }
  const all = Array.from(byPrompt.values())
  for (const family of all) family.sort((a, b) => length(b) - length(a))
  return all.sort((a, b) => length(b[0]!) - length(a[0]!))
}

function length({ prompt, response }: Row): number {
  return prompt.length + response.length
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
