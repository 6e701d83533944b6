import ort from 'onnxruntime-node'
import { CascadeError } from '../../../topics/errors.ts'
import { type MicroBatch, type PackedRows, pick } from './batch.ts'
import { scalar, type Tensors, vector } from './sessions.ts'

export interface LossOptions {
  /** Logits are divided by it before the softmax, as they were when the tokens were sampled. */
  temperature: number
  /** The ratio is bounded below at `1 - clipLow`. @default no bound */
  clipLow?: number
  /** The ratio is bounded above at `1 + clipHigh`. @default no bound */
  clipHigh?: number
  /** Weight of the KL term; needs `refLogprobs` unless 0. */
  klCoef: number
}

/** Tokens and places of a forward pass. @throws CascadeError RECORD_INVALID for a temperature not above 0 */
export function rowFeeds(packed: PackedRows, temperature: number): Tensors {
  if (!(temperature > 0)) {
    throw new CascadeError('RECORD_INVALID', `temperature: expected a number above 0, got ${temperature}`)
  }
  const { rows, cols, prompts } = packed
  return {
    tokens: new ort.Tensor('int32', packed.tokens, [rows, cols]),
    places: vector(packed.places),
    targets: vector(packed.targets),
    inverse_temperature: scalar(1 / temperature),
    ...(prompts
      ? {
          prompt_tokens: new ort.Tensor('int32', prompts.tokens, [prompts.rows, prompts.cols]),
          prompt_bias: new ort.Tensor('float32', prompts.bias, [prompts.rows, 1, prompts.cols]),
          positions: new ort.Tensor('int64', prompts.positions, [rows, cols]),
        }
      : {}),
  }
}

/**
 * Inputs of the loss for one micro-batch of a step with `tokens` trained tokens in all.
 *
 * @throws CascadeError RECORD_INVALID when an array has the wrong length or the KL term lacks its reference
 */
export function lossFeeds(batch: MicroBatch, packed: PackedRows, o: LossOptions, tokens: number): Tensors {
  const length = batch.rows * batch.cols
  const size = packed.source.length
  const perToken = (name: string, values: Float32Array | undefined) =>
    values ? pick(name, values, packed.source, length) : new Float32Array(size)
  if (o.klCoef !== 0 && !batch.refLogprobs) {
    throw new CascadeError(
      'RECORD_INVALID',
      `micro-batch: refLogprobs: expected with klCoef ${o.klCoef}, got none`,
    )
  }
  const klWeights = batch.klWeights
    ? perToken('klWeights', batch.klWeights).map((w) => w * o.klCoef)
    : new Float32Array(size).fill(o.klCoef / tokens)
  return {
    ...rowFeeds(packed, o.temperature),
    weights: vector(perToken('weights', batch.weights)),
    old_log_probs: vector(perToken('oldLogprobs', batch.oldLogprobs)),
    ref_log_probs: vector(perToken('refLogprobs', batch.refLogprobs)),
    kl_weights: vector(klWeights),
    use_old: scalar(batch.oldLogprobs ? 1 : 0),
    use_ref: scalar(batch.refLogprobs ? 1 : 0),
    ratio_low: scalar(o.clipLow === undefined ? 0 : 1 - o.clipLow),
    ratio_high: scalar(o.clipHigh === undefined ? 3e38 : 1 + o.clipHigh),
  }
}
