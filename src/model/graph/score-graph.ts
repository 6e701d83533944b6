import type { ModelConfig } from '../config.ts'
import { GraphBuilder } from '../onnx/builder.ts'
import { Tape } from './autodiff.ts'
import { targetLogProbs } from './ops/log-probs.ts'
import { forward, forwardInputs, parameterInputs, vectorInput } from './transformer.ts'

/**
 * `score`: log-probabilities and entropies of given tokens. Inputs: the parameters by name, those of
 * {@link forwardInputs}, and `targets` int64 `[M]`. Outputs: `log_probs [M]` and `entropy [M]` in nats, over the whole vocabulary after the temperature.
 */
export function scoreGraph(config: ModelConfig, sharesPrompts: boolean): GraphBuilder {
  const g = new GraphBuilder('score')
  const tape = new Tape(g)
  const weights = parameterInputs(g, config)
  const vars = new Map(Array.from(weights, ([name, value]) => [name, tape.constant(value)]))
  const targets = vectorInput(g, 'targets', 'int64')
  const logits = forward(tape, config, vars, forwardInputs(g, sharesPrompts))
  const [logProbs, entropy] = tape.apply(targetLogProbs, [logits, tape.constant(targets)], null)
  g.output(logProbs!.value, 'float32', ['M'], 'log_probs')
  g.output(entropy!.value, 'float32', ['M'], 'entropy')
  return g
}
