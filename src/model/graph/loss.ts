import { type ModelConfig, parameters } from '../config.ts'
import type { GraphBuilder, Value } from '../onnx/builder.ts'
import { Tape, type Var } from './autodiff.ts'
import { targetLogProbs } from './ops/log-probs.ts'
import { policyLoss } from './ops/policy-loss.ts'
import { forward, forwardInputs, vectorInput } from './transformer.ts'
import type { EmitGradients } from './update-graph.ts'

/** The scalars that `update` and `accumulate` report, summed over the tokens of their micro-batch. */
export const statNames = ['loss', 'kl', 'clipped', 'ratio', 'ratio_max', 'entropy', 'log_prob'] as const
export type StatName = (typeof statNames)[number]

/**
 * Declares the inputs of one micro-batch, emits forward pass, loss and gradients, and declares the
 * statistics as outputs. Inputs: those of {@link forwardInputs}; `targets` int64 `[M]`; `weights`,
 * `old_log_probs`, `ref_log_probs`, `kl_weights` float32 `[M]`; and the scalars `use_old`, `use_ref`, `ratio_low`, `ratio_high`. Returns the gradients in the order of `parameters(config)`, on top
 * of `initial` where given.
 */
export function lossGradients(sharesPrompts: boolean): EmitGradients {
  return (g, config, weights, initial) => emitLoss(g, config, weights, sharesPrompts, initial)
}

function emitLoss(
  g: GraphBuilder,
  config: ModelConfig,
  weights: ReadonlyMap<string, Value>,
  sharesPrompts: boolean,
  initial: readonly Value[] = [],
): Value[] {
  const tape = new Tape(g)
  const vars = new Map(Array.from(weights, ([name, value]) => [name, tape.leaf(value)]))
  const scalar = (name: string) => g.input(name, 'float32', [])
  const inputs = forwardInputs(g, sharesPrompts)
  const targets = tape.constant(vectorInput(g, 'targets', 'int64'))
  const attrs = {
    weights: vectorInput(g, 'weights'),
    old: vectorInput(g, 'old_log_probs'),
    ref: vectorInput(g, 'ref_log_probs'),
    klWeights: vectorInput(g, 'kl_weights'),
    useOld: scalar('use_old'),
    useRef: scalar('use_ref'),
    ratioMin: scalar('ratio_low'),
    ratioMax: scalar('ratio_high'),
  }
  const logits = forward(tape, config, vars, inputs)
  const [logProbs, entropy] = tape.apply(targetLogProbs, [logits, targets], null)
  const [loss, kl, clipped, ratio, most] = tape.apply(policyLoss, [logProbs!], attrs)
  const sums = [entropy, logProbs].map((v) => g.op('ReduceSum', [v!.value], { attrs: { keepdims: 0 } }))
  const stats = [...[loss, kl, clipped, ratio, most].map((v) => v!.value), ...sums]
  for (const [i, name] of statNames.entries()) g.output(stats[i]!, 'float32', [], name)
  const wrt: Var[] = parameters(config).map((p) => vars.get(p.name)!)
  return tape.gradients(loss!, g.f32(1), wrt, initial)
}
