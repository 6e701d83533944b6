import { CascadeError } from '../../../topics/errors.ts'
import { sharePrompts } from './share-prompts.ts'

/**
 * Token rows of one forward pass. All arrays are `rows * cols`, row by row. Where the real tokens of a row
 * lie does not matter (left, right or both sides padded): the first one has position 0.
 */
export interface TokenRows {
  rows: number
  cols: number
  tokens: Int32Array
  /** 1 = real token, 0 = padding. */
  valid: Uint8Array
  /** 1 = this token's log-probability, predicted from the token before it, is wanted. */
  lossMask: Uint8Array
}

/** One forward and backward pass; a step has one or more. */
export interface MicroBatch extends TokenRows {
  /** Per token: advantage times normaliser. The loss is a plain sum over the step's tokens. */
  weights: Float32Array
  /** Log-probabilities of the sampling policy. Without them the step is strictly on-policy (ratio 1). */
  oldLogprobs?: Float32Array
  refLogprobs?: Float32Array
  /** Normaliser of the KL term per token. @default 1 / trained tokens of the whole step */
  klWeights?: Float32Array
}

/** A batch in the layout of the graphs: every row starts with a real token; rows without loss are gone. */
export interface PackedRows {
  rows: number
  cols: number
  /** `[rows * cols]`; where prompts are shared, what follows them. */
  tokens: Int32Array
  /** `[M]`: where each wanted token is predicted, as `row * cols + column`. */
  places: BigInt64Array
  targets: BigInt64Array
  /** `[M]`: index of each wanted token in the arrays that came in. */
  source: Int32Array
  prompts?: PackedPrompts
}

/** What the rows begin with; `rows` of the batch over `rows` of these are adjacent and share one. */
export interface PackedPrompts {
  rows: number
  cols: number
  /** `[rows * cols]`, padded on the right. */
  tokens: Int32Array
  /** `[rows * cols]`: 0 at real tokens, -1e30 at padding. */
  bias: Float32Array
  /** Position of each of the batch's tokens, as many as those. */
  positions: BigInt64Array
}

/** A row that begins with a real token and ends with the last that is wanted. */
export interface KeptRow {
  ids: readonly number[]
  /** Columns that predict a wanted token, and its index in the arrays that came in. */
  wanted: readonly { column: number; source: number }[]
}

/** Columns are a multiple of it: even vector lengths, and few distinct shapes. */
const columnStep = 8

/**
 * Moves real tokens to the left, drops what no wanted token depends on, and lists the wanted tokens. What several rows begin with
 * before their first wanted token is laid out once, where that makes the pass smaller.
 *
 * @throws CascadeError RECORD_INVALID when array lengths disagree, a token id is outside the vocabulary, a
 * wanted token is padding or its row's first, or a row is longer than the model's positions
 */
export function packRows(batch: TokenRows, limits: { vocab: number; positions: number }): PackedRows {
  const { rows, cols, tokens, valid, lossMask } = batch
  for (const [name, array] of Object.entries({ tokens, valid, lossMask })) {
    checkLength(name, array.length, rows * cols)
  }
  const kept: KeptRow[] = []
  let width = 0
  for (let r = 0; r < rows; r++) {
    const ids: number[] = []
    const wanted: { column: number; source: number }[] = []
    for (let at = r * cols; at < (r + 1) * cols; at++) {
      if (valid[at]) {
        const id = tokens[at]!
        if (id < 0 || id >= limits.vocab) {
          throw invalid(`token id in row ${r}: expected 0 to ${limits.vocab - 1}, got ${id}`)
        }
        if (lossMask[at]) {
          if (ids.length === 0)
            throw invalid(`lossMask in row ${r}: the first token is not predicted from any`)
          wanted.push({ column: ids.length - 1, source: at })
        }
        ids.push(id)
      } else if (lossMask[at]) {
        throw invalid(`lossMask in row ${r}, column ${at - r * cols}: expected a real token, got padding`)
      }
    }
    const last = wanted.at(-1)
    if (!last) continue
    kept.push({ ids: ids.slice(0, last.column + 2), wanted })
    width = Math.max(width, last.column + 1)
  }
  if (width > limits.positions) {
    throw invalid(`row length: expected at most ${limits.positions} positions, got ${width}`)
  }
  const padded = Math.min(Math.ceil(width / columnStep) * columnStep, limits.positions)
  return sharePrompts(kept, limits.positions, kept.length * padded) ?? layOut(kept, padded)
}

function layOut(kept: readonly KeptRow[], cols: number): PackedRows {
  const tokens = new Int32Array(kept.length * cols)
  const wanted = kept.flatMap((row, r) => row.wanted.map((w) => ({ ...w, r })))
  for (const [r, { ids }] of kept.entries()) tokens.set(ids.slice(0, cols), r * cols)
  return {
    rows: kept.length,
    cols,
    tokens,
    places: BigInt64Array.from(wanted, (w) => BigInt(w.r * cols + w.column)),
    targets: BigInt64Array.from(wanted, (w) => BigInt(kept[w.r]!.ids[w.column + 1]!)),
    source: Int32Array.from(wanted, (w) => w.source),
  }
}

/** The wanted tokens' entries of a per-token array. */
export function pick(name: string, values: Float32Array, source: Int32Array, length: number): Float32Array {
  checkLength(name, values.length, length)
  return Float32Array.from(source, (at) => values[at]!)
}

function checkLength(name: string, got: number, expected: number): void {
  if (got !== expected) throw invalid(`${name}: expected ${expected} entries, got ${got}`)
}

function invalid(message: string): CascadeError {
  return new CascadeError('RECORD_INVALID', `micro-batch: ${message}`)
}
