import type { GraphBuilder, Value } from '../onnx/builder.ts'

/**
 * The end of the graphs that read tokens: declares the input `inverse_temperature` (float32 `[B, 1]`) and the outputs `probs` and,
 * where asked for, `raw`, float32 `[B, V]`, of the same names as in {@link Distributions}. The draw itself is made outside: it is
 * less than a microsecond a row for small vocabularies, where a graph needs a dozen nodes and a sort.
 */
export function distributionOutputs(g: GraphBuilder, logits: Value, vocab: number, raw: boolean): void {
  const inverseTemperature = g.input('inverse_temperature', 'float32', ['B', 1])
  const scaled = g.op('Mul', [logits, inverseTemperature])
  for (const [name, x] of raw
    ? ([
        ['probs', scaled],
        ['raw', logits],
      ] as const)
    : ([['probs', scaled]] as const)) {
    g.output(g.op('Softmax', [x], { attrs: { axis: -1 }, names: [name] }), 'float32', ['B', vocab])
  }
}
