import { type ModelConfig, parameters } from '../config.ts'
import { GraphBuilder } from '../onnx/builder.ts'
import { emitAdamW } from './adamw.ts'
import { lossGradients } from './loss.ts'
import { parameterInputs } from './transformer.ts'

/** `update`: loss, gradients, clipping and AdamW of a step that is one micro-batch, in one run. */
export function updateGraph(config: ModelConfig, sharesPrompts: boolean): GraphBuilder {
  const g = new GraphBuilder('update')
  const weights = parameterInputs(g, config)
  emitAdamW(g, parameters(config), weights, lossGradients(g, config, weights, sharesPrompts))
  return g
}

/** `accumulate`: takes `grad.NAME`, adds one micro-batch's gradients, gives `sum.NAME`. */
export function accumulateGraph(config: ModelConfig, sharesPrompts: boolean): GraphBuilder {
  const g = new GraphBuilder('accumulate')
  const specs = parameters(config)
  const weights = parameterInputs(g, config)
  const before = Array.from(parameterInputs(g, config, 'grad.').values())
  for (const [i, sum] of lossGradients(g, config, weights, sharesPrompts, before).entries()) {
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
