import type { ModelConfig } from '../config.ts'
import { GraphBuilder, type Value } from '../onnx/builder.ts'
import { distributionOutputs } from '../sampling/distributions.ts'
import type { Tensors } from '../train/sessions.ts'
import {
  contrib,
  finishLayer,
  firstNorm,
  logits,
  product,
  type RotaryTables,
  rotaryInputs,
  type Weights,
  weightInputs,
} from './blocks.ts'

/**
 * `step`: one token a row through the model. The caches go in and do not come out: the graph
 * returns only the new token's keys and values, which the caller appends. Inputs: the weights, `cos`, `sin`,
 * `tokens` int32 `[B]`, `positions` int64 `[B, 1]`, `mask` float32 `[B, 1, 1, C]` (added to the scores of the cached
 * places: 0, or a large negative number), and `past_k.i` and `past_v.i` `[B, kv heads, C, head_dim]`. Outputs: `k.i` and `v.i`
 * `[B, kv heads, 1, head_dim]`. {@link distributionOutputs} adds its own. Weights given are part of the graph instead.
 *
 * Measured on 2 cores, 4 layers x 128, processor time a step of 64 rows: 4.5 ms so; 15.8 ms with onnxruntime's
 * GroupQueryAttention on caches that it shares with the caller; a `Loop` carries its caches by copying them every turn.
 */
export function stepGraph(
  config: ModelConfig,
  { raw, weights }: { raw: boolean; weights?: Tensors | undefined },
): GraphBuilder {
  const g = new GraphBuilder('step')
  const w = weightInputs(g, config, weights)
  const tables = rotaryInputs(g, config)
  const tokens = g.input('tokens', 'int32', ['B'])
  const positions = g.input('positions', 'int64', ['B', 1])
  const mask = g.input('mask', 'float32', ['B', 1, 1, 'C'])
  const cacheLength = g.op('Gather', [g.op('Shape', [mask]), g.i64([3])])
  const parts = g.op('Concat', [cacheLength, g.i64([1])], { attrs: { axis: 0 } })
  const cached: { k: Value; v: Value }[] = []
  let sum = g.op('Gather', [w.get('embed')!, tokens])
  let normed = firstNorm(g, config, w, sum)
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const { attended, k, v } = attend(g, config, w, layer, normed, { tables, positions, mask, parts })
    cached.push({ k, v })
    ;({ sum, normed } = finishLayer(g, config, w, layer, attended, sum))
  }
  distributionOutputs(g, logits(g, config, w, normed), config.vocab_size, raw)
  const shape = ['B', config.num_key_value_heads, 1, config.head_dim]
  for (const [layer, { k, v }] of cached.entries()) {
    g.output(k, 'float32', shape, `k.${layer}`)
    g.output(v, 'float32', shape, `v.${layer}`)
  }
  return g
}

interface AttentionInputs {
  tables: RotaryTables
  positions: Value
  mask: Value
  /** Lengths of the cached part and of the new one, for the split of the attention weights. */
  parts: Value
}

/**
 * Attention of one new token a row over its cached places and itself. The two parts share one softmax; keeping them
 * apart is what spares a copy of the cache. Query heads of one key-value head stand together: `[B, kv, group, hd]`.
 */
function attend(
  g: GraphBuilder,
  config: ModelConfig,
  w: Weights,
  layer: number,
  x: Value,
  { tables, positions, mask, parts }: AttentionInputs,
): { attended: Value; k: Value; v: Value } {
  const { num_attention_heads: heads, num_key_value_heads: kv, head_dim: width } = config
  const cacheShape = ['B', kv, 'C', width]
  const pastK = g.input(`past_k.${layer}`, 'float32', cacheShape)
  const pastV = g.input(`past_v.${layer}`, 'float32', cacheShape)
  const qkv = g.op('Reshape', [
    product(g, x, w.get(`layers.${layer}.qkv`)!),
    g.i64([-1, heads + 2 * kv, 1, width]),
  ])
  const [qk, v] = g.ops('Split', [qkv, g.i64([heads + kv, kv])], 2, {
    attrs: { axis: 1 },
  }) as [Value, Value]
  const turned = g.op('RotaryEmbedding', [qk, positions, tables.cos, tables.sin], contrib)
  let [q, k] = g.ops('Split', [turned, g.i64([heads, kv])], 2, {
    attrs: { axis: 1 },
  }) as [Value, Value]
  if (heads !== kv) q = g.op('Reshape', [q, g.i64([-1, kv, heads / kv, width])])
  const onCache = g.op('Add', [product(g, q, pastK), mask])
  // A row's one new key: cheaper so than as a batch of products.
  const onItself = g.op('ReduceSum', [g.op('Mul', [q, k]), g.i64([-1])], { attrs: { keepdims: 1 } })
  const all = g.op('Concat', [onCache, onItself], { attrs: { axis: -1 } })
  const weights = g.op('Softmax', [all], { attrs: { axis: -1 } })
  const [onPast, onNew] = g.ops('Split', [weights, parts], 2, { attrs: { axis: -1 } }) as [Value, Value]
  const mixed = g.op('Add', [g.op('MatMul', [onPast, pastV]), g.op('Mul', [onNew, v])])
  return { attended: g.op('Reshape', [mixed, g.i64([-1, heads * width])]), k, v }
}
