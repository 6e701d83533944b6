import type { GraphBuilder, Value } from '../onnx/builder.ts'

/**
 * The end of the graphs that read tokens: declares the input `inverse_temperature` (float32 `[B, 1]`) and the outputs `probs` and,
 * where asked for, `raw`, float32 `[B, V]`, of the same names as in {@link Distributions}. The draw itself is made outside: it is
 * less than a microsecond a row for small vocabularies, where a graph needs a dozen nodes and a sort.
 */
export function distributionOutputs(g: GraphBuilder, logits: Value, vocab: number, raw: boolean): void {
  const inverseTemperature = g.input('inverse_temperature', 'float32', ['B', 1])
  const softmax = (x: Value) => g.op('Softmax', [x], { attrs: { axis: -1 } })
  g.output(softmax(g.op('Mul', [logits, inverseTemperature])), 'float32', ['B', vocab], 'probs')
  if (raw) g.output(softmax(logits), 'float32', ['B', vocab], 'raw')
}
