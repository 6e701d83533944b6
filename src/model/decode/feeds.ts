import ort from 'onnxruntime-node'
import { samplerKind } from '../sampling/sampler.ts'
import type { Tensors } from '../train/sessions.ts'
import type { KvCache } from './cache.ts'
import type { Row } from './group.ts'

/** Inputs of the sampler for `rows`, padded to `size` rows. */
export function drawFeeds(rows: readonly Row[], size: number, vocab: number): Tensors {
  const { mode } = samplerKind(rows[0]!.group.request.sampling)
  if (mode === 'greedy') return {}
  const column = (value: (row: Row) => number) => {
    const values = new Float32Array(size)
    for (let i = 0; i < size; i++) values[i] = value(rows[Math.min(i, rows.length - 1)]!)
    return new ort.Tensor('float32', values, [size, 1])
  }
  const sampling = (row: Row) => row.group.request.sampling
  const feeds: Tensors = {
    u: column((row) => row.uniform()),
    inverse_temperature: column((row) => 1 / sampling(row).temperature),
  }
  if (mode === 'plain') return feeds
  const limit = (row: Row) => Math.min(sampling(row).topK || vocab, vocab)
  feeds.top_p = column((row) => sampling(row).topP)
  feeds.top_k = column(limit)
  const most = Math.max(...rows.map(limit))
  feeds.candidates = new ort.Tensor('int64', BigInt64Array.of(BigInt(most)), [1])
  return feeds
}

/** Inputs of a step but for weights and tables: the last token of each row at its place, and the caches. */
export function stepFeeds(rows: readonly Row[], cache: KvCache, vocab: number): Tensors {
  const size = cache.rows
  const tokens = new Int32Array(size)
  const positions = new BigInt64Array(size)
  for (let i = 0; i < size; i++) {
    tokens[i] = rows[Math.min(i, rows.length - 1)]!.last
    positions[i] = BigInt(cache.lengths[i]!)
  }
  return {
    ...drawFeeds(rows, size, vocab),
    ...cache.feeds(),
    tokens: new ort.Tensor('int32', tokens, [size]),
    positions: new ort.Tensor('int64', positions, [size, 1]),
  }
}
