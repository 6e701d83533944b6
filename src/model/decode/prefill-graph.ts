import type { ModelConfig } from '../config.ts'
import { GraphBuilder } from '../onnx/builder.ts'
import { distributionOutputs } from '../sampling/distributions.ts'
import { contrib, finishLayer, firstNorm, logits, product, rotaryInputs, weightInputs } from './blocks.ts'

/**
 * `prefill`: whole prompts at once, padded on the right. Inputs: the weights, `cos`, `sin`, `tokens` int32
 * `[N, S]`, `lengths` int32 `[N]` (tokens of each prompt less one), `width` int32 (S), `last` int64 `[N]` (each
 * prompt's last token in the flattened batch). Outputs: for each layer `k.i` and `v.i`, `[N, kv heads, S, head_dim]`, whose
 * places beyond a prompt's length mean nothing. {@link distributionOutputs} adds its own, after the last token of each prompt.
 */
export function prefillGraph(config: ModelConfig, { raw }: { raw: boolean }): GraphBuilder {
  const g = new GraphBuilder('prefill')
  const w = weightInputs(g, config)
  const { cos, sin } = rotaryInputs(g, config)
  const tokens = g.input('tokens', 'int32', ['N', 'S'])
  const lengths = g.input('lengths', 'int32', ['N'])
  const width = g.input('width', 'int32', [])
  const last = g.input('last', 'int64', ['N'])
  const cached = { k: [] as ReturnType<typeof g.op>[], v: [] as ReturnType<typeof g.op>[] }
  const { num_attention_heads: heads, num_key_value_heads: kv, head_dim: hd } = config
  let sum = g.op('Gather', [w.get('embed')!, tokens])
  let normed = firstNorm(g, config, w, sum)
  for (let layer = 0; layer < config.num_hidden_layers; layer++) {
    const qkv = product(g, normed, w.get(`layers.${layer}.qkv`)!)
    // Turned outside of the attention, which would take head widths of a multiple of 16 alone.
    const [qk, values] = g.ops('Split', [qkv, g.i64([(heads + kv) * hd, kv * hd])], 2, {
      attrs: { axis: -1 },
    })
    const turned = g.op('RotaryEmbedding', [qk!, g.i64([0]), cos, sin], {
      ...contrib,
      attrs: { num_heads: heads + kv, rotary_embedding_dim: hd },
    })
    const [q, keys] = g.ops('Split', [turned, g.i64([heads * hd, kv * hd])], 2, { attrs: { axis: -1 } })
    let [attended, k, v] = g.ops('GroupQueryAttention', [q!, keys!, values!, null, null, lengths, width], 3, {
      ...contrib,
      attrs: { num_heads: heads, kv_num_heads: kv, scale: { float: 1 } },
    })
    cached.k.push(k!)
    cached.v.push(v!)
    if (layer === config.num_hidden_layers - 1) {
      // Past the last attention only the last token of each prompt matters.
      const at = (x: typeof sum, columns: number) =>
        g.op('Gather', [g.op('Reshape', [x, g.i64([-1, columns])]), last])
      attended = at(attended!, config.num_attention_heads * config.head_dim)
      sum = at(sum, config.hidden_size)
    }
    ;({ sum, normed } = finishLayer(g, config, w, layer, attended!, sum))
  }
  distributionOutputs(g, logits(g, config, w, normed), config.vocab_size, raw)
  const shape = ['N', config.num_key_value_heads, 'S', config.head_dim]
  for (const [name, values] of Object.entries(cached)) {
    for (const [layer, value] of values.entries()) g.output(value, 'float32', shape, `${name}.${layer}`)
  }
  return g
}
