import { type ModelConfig, parameters } from '../config.ts'
import { GraphBuilder } from '../onnx/builder.ts'
import { Tape } from './autodiff.ts'
import { preferenceLoss } from './ops/preference-loss.ts'
import { forwardReward, parameterInputs, rowInputs } from './transformer.ts'
import type { EmitGradients } from './update-graph.ts'

/** The scalars that the update reports, summed over the pairs of its micro-batch. */
export const pairStatNames = ['loss', 'right', 'margin', 'level'] as const
export type PairStatName = (typeof pairStatNames)[number]

/** `reward`: parameters by name and {@link rowInputs}, to `rewards [M]` of the texts that end at the places. */
export function rewardGraph(config: ModelConfig): GraphBuilder {
  const g = new GraphBuilder('reward')
  const tape = new Tape(g)
  const weights = parameterInputs(g, config)
  const vars = new Map(Array.from(weights, ([name, value]) => [name, tape.constant(value)]))
  const rewards = forwardReward(tape, config, vars, rowInputs(g))
  g.output(g.op('Squeeze', [rewards.value, g.i64([1])]), 'float32', ['M'], 'rewards')
  return g
}

/**
 * Declares the inputs of one micro-batch of pairs: {@link rowInputs}, two rows a pair, the chosen one first; `weights` float32 `[P]`
 * and the scalar `centering`. The outputs {@link pairStatNames}; the gradients in the order of `parameters(config)`.
 */
export const pairGradients: EmitGradients = (g, config, weights, initial) => {
  const tape = new Tape(g)
  const vars = new Map(Array.from(weights, ([name, value]) => [name, tape.leaf(value)]))
  const attrs = {
    weights: g.input('weights', 'float32', ['P']),
    centering: g.input('centering', 'float32', []),
  }
  const rewards = forwardReward(tape, config, vars, rowInputs(g))
  const stats = tape.apply(preferenceLoss, [rewards], attrs)
  for (const [i, name] of pairStatNames.entries()) g.output(stats[i]!.value, 'float32', [], name)
  const wrt = parameters(config).map((p) => vars.get(p.name)!)
  return tape.gradients(stats[0]!, g.f32(1), wrt, initial)
}
