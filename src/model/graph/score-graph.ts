import type { ModelConfig } from '../config.ts'
import { GraphBuilder } from '../onnx/builder.ts'
import { Tape } from './autodiff.ts'
import { targetLogProbs } from './ops/log-probs.ts'
import { forward, parameterInputs, vectorInput } from './transformer.ts'

/**
 * `score`: log-probabilities and entropies of given tokens. Inputs: the parameters by name, `tokens` int32
 * `[B, T]`, `places` and `targets` int64 `[M]`, `inverse_temperature` float32 (rank 0). Outputs:
 * `log_probs [M]` and `entropy [M]` in nats, over the whole vocabulary after the temperature.
 */
export function scoreGraph(config: ModelConfig): GraphBuilder {
  const g = new GraphBuilder('score')
  const tape = new Tape(g)
  const weights = parameterInputs(g, config)
  const vars = new Map(Array.from(weights, ([name, value]) => [name, tape.constant(value)]))
  const tokens = g.input('tokens', 'int32', ['B', 'T'])
  const places = vectorInput(g, 'places', 'int64')
  const targets = vectorInput(g, 'targets', 'int64')
  const inverseTemperature = g.input('inverse_temperature', 'float32', [])
  const logits = forward(tape, config, vars, { tokens, places, inverseTemperature })
  const [logProbs, entropy] = tape.apply(targetLogProbs, [logits, tape.constant(targets)], null)
  g.output(logProbs!.value, 'float32', ['M'], 'log_probs')
  g.output(entropy!.value, 'float32', ['M'], 'entropy')
  return g
}
