import ort from 'onnxruntime-node'
import type { Distributions } from '../sampling/sampler.ts'
import type { Tensors } from '../train/sessions.ts'
import type { Group } from './group.ts'

/** Tokens of one prefill, padding included. */
const mostTokens = 8192

export interface Prefilled {
  /** After each prompt. */
  distributions: Distributions
  /** k.0, v.0, k.1, ...: `[N, kv heads, width, head_dim]` each. */
  layers: Float32Array[]
  width: number
}

/** Consecutive groups whose padded prompts stay below a bound together. */
export function prefillBatches(groups: readonly Group[]): Group[][] {
  const batches: Group[][] = []
  let width = 0
  for (const group of groups) {
    const batch = batches.at(-1)
    width = Math.max(width, group.request.prompt.length)
    if (batch && width * (batch.length + 1) <= mostTokens) {
      batch.push(group)
    } else {
      batches.push([group])
      width = group.request.prompt.length
    }
  }
  return batches
}

/** Prompts padded on the right. A single one is doubled: one row alone takes other kernels, which round otherwise. */
export function prefillFeeds(prompts: readonly Int32Array[]): Tensors {
  const rows = prompts.length === 1 ? [prompts[0]!, prompts[0]!] : prompts
  const width = Math.max(...rows.map((p) => p.length))
  const tokens = new Int32Array(rows.length * width)
  for (const [i, prompt] of rows.entries()) tokens.set(prompt, i * width)
  return {
    tokens: new ort.Tensor('int32', tokens, [rows.length, width]),
    lengths: new ort.Tensor(
      'int32',
      Int32Array.from(rows, (p) => p.length - 1),
      [rows.length],
    ),
    width: new ort.Tensor('int32', Int32Array.of(width), []),
    last: new ort.Tensor(
      'int64',
      BigInt64Array.from(rows, (p, i) => BigInt(i * width + p.length - 1)),
      [rows.length],
    ),
  }
}

export function prefilled(out: Tensors, layerNames: readonly string[], feeds: Tensors): Prefilled {
  return {
    distributions: distributions(out),
    layers: layerNames.map((name) => out[name]!.data as Float32Array),
    width: feeds.tokens!.dims[1]!,
  }
}

/** What `distributionOutputs` declares, of a run. */
export function distributions(out: Tensors): Distributions {
  return { probs: out.probs!.data as Float32Array, raw: out.raw?.data as Float32Array | undefined }
}
