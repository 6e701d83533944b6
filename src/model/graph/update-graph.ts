import { type ModelConfig, parameters } from '../config.ts'
import { GraphBuilder, type Value } from '../onnx/builder.ts'
import { emitAdamW } from './adamw.ts'
import { parameterInputs } from './transformer.ts'

/**
 * Declares the inputs of one micro-batch and the statistics of its loss, and gives the gradients in the order of `parameters(config)`, on
 * top of `initial` where given.
 */
export type EmitGradients = (
  g: GraphBuilder,
  config: ModelConfig,
  weights: ReadonlyMap<string, Value>,
  initial?: readonly Value[],
) => Value[]

/** `update`: loss, gradients, clipping and AdamW of a step that is one micro-batch, in one run. */
export function updateGraph(config: ModelConfig, gradients: EmitGradients): GraphBuilder {
  const g = new GraphBuilder('update')
  const weights = parameterInputs(g, config)
  emitAdamW(g, parameters(config), weights, gradients(g, config, weights))
  return g
}

/** `accumulate`: takes `grad.NAME`, adds one micro-batch's gradients, gives `sum.NAME`. */
export function accumulateGraph(config: ModelConfig, gradients: EmitGradients): GraphBuilder {
  const g = new GraphBuilder('accumulate')
  const specs = parameters(config)
  const weights = parameterInputs(g, config)
  const before = Array.from(parameterInputs(g, config, 'grad.').values())
  for (const [i, sum] of gradients(g, config, weights, before).entries()) {
    g.output(sum, 'float32', specs[i]!.shape, `sum.${specs[i]!.name}`)
  }
  return g
}

/** `apply`: clipping and AdamW with the gradients `grad.NAME` that `accumulate` summed. */
export function applyGraph(config: ModelConfig): GraphBuilder {
  const g = new GraphBuilder('apply')
  const weights = parameterInputs(g, config)
  const gradients = parameterInputs(g, config, 'grad.')
  emitAdamW(g, parameters(config), weights, Array.from(gradients.values()))
  return g
}
