import ort from 'onnxruntime-node'
import { CascadeError } from '../../../topics/errors.ts'
import type { ModelConfig } from '../config.ts'
import { type Tensors, vector } from '../train/sessions.ts'

/** Columns are a multiple of it: few distinct shapes. */
const columnStep = 8

/** Columns that a text takes, padding included. A function of its length alone, so that its reward's bits are too. */
export function columnsOf(length: number, config: ModelConfig): number {
  return Math.min(Math.ceil(length / columnStep) * columnStep, config.max_position_embeddings)
}

/**
 * Texts as the rows of one pass, padded on the right, each looked at in its last token.
 *
 * @throws CascadeError RECORD_INVALID naming the text: without a token, longer than the model's positions, or with an id outside
 * the vocabulary
 */
export function textFeeds(texts: readonly Int32Array[], config: ModelConfig): Tensors {
  const { vocab_size: vocab, max_position_embeddings: positions } = config
  for (const [i, tokens] of texts.entries()) {
    if (tokens.length === 0 || tokens.length > positions) {
      throw invalid(i, `expected 1 to ${positions} tokens, got ${tokens.length}`)
    }
    const stranger = tokens.find((id) => id < 0 || id >= vocab)
    if (stranger !== undefined) throw invalid(i, `token id: expected 0 to ${vocab - 1}, got ${stranger}`)
  }
  const cols = columnsOf(Math.max(...texts.map((t) => t.length)), config)
  const tokens = new Int32Array(texts.length * cols)
  for (const [i, text] of texts.entries()) tokens.set(text, i * cols)
  return {
    tokens: new ort.Tensor('int32', tokens, [texts.length, cols]),
    places: vector(BigInt64Array.from(texts, (text, i) => BigInt(i * cols + text.length - 1))),
  }
}

function invalid(text: number, message: string): CascadeError {
  return new CascadeError('RECORD_INVALID', `text ${text}: ${message}`)
}
