import type ort from 'onnxruntime-node'
import { CascadeError } from '../../../topics/index.ts'
import type { EmbeddingFolder, Pooling } from './folder.ts'

/** By what names encoders are exported, the one to take first: a vector of the text, or one of each token. */
const ofText = ['sentence_embedding', 'pooler_output'] as const
const ofTokens = ['last_hidden_state', 'token_embeddings'] as const

/**
 * The output to read: `sentence_embedding` where the model pools by itself and no pooling is asked for, else the tokens' vectors.
 *
 * @throws CascadeError MODEL_INVALID where there is none that is known
 */
export function outputOf(
  { folder }: EmbeddingFolder,
  session: ort.InferenceSession,
  asked?: Pooling,
): string {
  const [text, pooler] = ofText
  const order = asked ? ofTokens : [text, ...ofTokens, pooler]
  const found = order.find((name) => session.outputNames.includes(name))
  if (found !== undefined) return found
  throw new CascadeError(
    'MODEL_INVALID',
    `embedding model ${folder}: expected an output ${order.join(' or ')}, got ${session.outputNames.join(', ')}`,
  )
}

/** One vector of length 1. @throws CascadeError ENGINE_FAILED for a shape or numbers that are none of an embedding */
export function vectorOf({ data, dims, type }: ort.Tensor, pooling: Pooling): Float64Array {
  const [rows, tokens = 1, width] = dims.length === 2 ? [dims[0], 1, dims[1]] : dims
  if (type !== 'float32' || rows !== 1 || !width || dims.length > 3) {
    throw failed(`expected float32 [1, width] or [1, tokens, width], got ${type} [${dims.join(', ')}]`)
  }
  const values = data as Float32Array
  const sum = new Float64Array(width)
  const last = pooling === 'cls' ? Math.min(1, tokens) : tokens
  for (let at = 0; at < last * width; at++) sum[at % width]! += values[at]!
  let square = 0
  for (const value of sum) square += value * value
  if (!Number.isFinite(square)) throw failed('expected finite numbers, got others')
  const length = Math.sqrt(square)
  return length === 0 ? sum : sum.map((value) => value / length)
}

/** From -1 to 1, of vectors of length 1; 0 where one is all zeros, or empty. */
export function cosine(a: Float64Array, b: Float64Array): number {
  let sum = 0
  for (let i = 0; i < Math.min(a.length, b.length); i++) sum += a[i]! * b[i]!
  return Math.min(1, Math.max(-1, sum))
}

function failed(why: string): CascadeError {
  return new CascadeError('ENGINE_FAILED', why)
}
