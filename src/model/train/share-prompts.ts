import type { KeptRow, PackedRows } from './batch.ts'

/** Sharing has costs of its own: it must leave at most this part of the tokens. */
const worthwhile = 0.9

/** Prompts and rows are cut to a multiple of it. */
const columnStep = 4

/** Rows that begin alike: all before the place that predicts their first wanted token is the same. */
interface Family {
  prompt: readonly number[]
  members: number[]
}

/**
 * Lays out rows such that what they begin with is computed once: every prompt has the same number of rows, the last ones empty where
 * it has fewer, and a prompt of more rows is there several times. `undefined` where that is not worthwhile against a layout of `plain`
 * tokens.
 */
export function sharePrompts(
  kept: readonly KeptRow[],
  positions: number,
  plain: number,
): PackedRows | undefined {
  const families = familiesOf(kept)
  const upTo = (n: number) => Math.ceil(n / columnStep) * columnStep
  const start = (row: KeptRow) => row.wanted[0]!.column
  const promptCols = upTo(Math.max(0, ...families.map((f) => f.prompt.length)))
  const cols = upTo(Math.max(0, ...kept.map((row) => row.wanted.at(-1)!.column + 1 - start(row))))
  if (promptCols === 0 || Math.max(promptCols, cols) > positions) return undefined
  const { each, tokens: size } = rowsEach(families, promptCols, cols)
  if (each === 1 || size > worthwhile * plain) return undefined
  const chunks = families.flatMap(({ prompt, members }) =>
    Array.from({ length: Math.ceil(members.length / each) }, (_, i) => ({
      prompt,
      members: members.slice(i * each, (i + 1) * each),
    })),
  )
  const rows = chunks.length * each
  const tokens = new Int32Array(rows * cols)
  const prompts = {
    rows: chunks.length,
    cols: promptCols,
    tokens: new Int32Array(chunks.length * promptCols),
    bias: new Float32Array(chunks.length * promptCols).fill(-1e30),
    positions: new BigInt64Array(rows * cols),
  }
  const rowOf = new Int32Array(kept.length)
  for (const [c, { prompt, members }] of chunks.entries()) {
    prompts.tokens.set(prompt, c * promptCols)
    prompts.bias.fill(0, c * promptCols, c * promptCols + prompt.length)
    for (let i = 0; i < each; i++) {
      const at = (c * each + i) * cols
      for (let t = 0; t < cols; t++) {
        // Only padding can lie beyond the positions that the model has.
        prompts.positions[at + t] = BigInt(Math.min(prompt.length + t, positions - 1))
      }
      const member = members[i]
      if (member === undefined) continue
      rowOf[member] = c * each + i
      tokens.set(kept[member]!.ids.slice(prompt.length, prompt.length + cols), at)
    }
  }
  const wanted = kept.flatMap((row, r) =>
    row.wanted.map((w) => ({
      place: rowOf[r]! * cols + w.column - start(row),
      target: row.ids[w.column + 1]!,
      source: w.source,
    })),
  )
  return {
    rows,
    cols,
    tokens,
    places: BigInt64Array.from(wanted, (w) => BigInt(w.place)),
    targets: BigInt64Array.from(wanted, (w) => BigInt(w.target)),
    source: Int32Array.from(wanted, (w) => w.source),
    prompts,
  }
}

function familiesOf(kept: readonly KeptRow[]): Family[] {
  const families = new Map<string, Family>()
  for (const [r, { ids, wanted }] of kept.entries()) {
    const prompt = ids.slice(0, wanted[0]!.column)
    const key = prompt.join()
    const family = families.get(key)
    if (family) family.members.push(r)
    else families.set(key, { prompt, members: [r] })
  }
  return Array.from(families.values())
}

/** The number of rows a prompt that needs the fewest tokens in all. */
function rowsEach(
  families: readonly Family[],
  promptCols: number,
  cols: number,
): { each: number; tokens: number } {
  const most = Math.max(...families.map((f) => f.members.length))
  let best = { each: 1, tokens: Number.POSITIVE_INFINITY }
  for (let each = 1; each <= most; each++) {
    const chunks = families.reduce((sum, f) => sum + Math.ceil(f.members.length / each), 0)
    const tokens = chunks * (promptCols + each * cols)
    if (tokens < best.tokens) best = { each, tokens }
  }
  return best
}
