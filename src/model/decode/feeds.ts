import ort from 'onnxruntime-node'
import type { Tensors } from '../train/sessions.ts'
import type { KvCache } from './cache.ts'
import type { Group, Row } from './group.ts'

/** `inverse_temperature` of `groups`, one a row, padded to `size` rows. */
export function temperatureFeed(groups: readonly Group[], size: number): Tensors {
  const values = new Float32Array(size)
  for (let i = 0; i < size; i++) {
    const { temperature } = groups[Math.min(i, groups.length - 1)]!.request.sampling
    values[i] = temperature === 0 ? 1 : 1 / temperature
  }
  return { inverse_temperature: new ort.Tensor('float32', values, [size, 1]) }
}

/** Inputs of a step but for weights and tables: the last token of each row at its place, and the caches. */
export function stepFeeds(rows: readonly Row[], cache: KvCache): Tensors {
  const size = cache.rows
  const tokens = new Int32Array(size)
  const positions = new BigInt64Array(size)
  for (let i = 0; i < size; i++) {
    tokens[i] = rows[Math.min(i, rows.length - 1)]!.last
    positions[i] = BigInt(cache.lengths[i]!)
  }
  const groups = rows.map((row) => row.group)
  return {
    ...temperatureFeed(groups, size),
    ...cache.feeds(),
    tokens: new ort.Tensor('int32', tokens, [size]),
    positions: new ort.Tensor('int64', positions, [size, 1]),
  }
}
