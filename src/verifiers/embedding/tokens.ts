import { Tokenizer } from '@huggingface/tokenizers'
import { CascadeError } from '../../../topics/index.ts'
import type { EmbeddingFolder } from './folder.ts'

export interface Tokens {
  readonly ids: readonly number[]
  /** Whether the end of the text is left out. */
  readonly truncated: boolean
}

/** No vocabulary has tokens this long: what is beyond so many characters a token cannot be read anyway. */
const charactersPerToken = 64

/**
 * Cuts texts into the model's tokens. Of a text that is too long the end is left out, never the special tokens around it.
 *
 * @throws CascadeError MODEL_INVALID for a tokenizer that cannot be made
 */
export function tokenizerOf(given: EmbeddingFolder): (text: string) => Tokens {
  const { folder, maxTokens } = given
  let tokenizer: Tokenizer
  try {
    tokenizer = new Tokenizer(given.tokenizer as object, given.tokenizerConfig)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `embedding model ${folder}: tokenizer.json: expected a tokenizer that is known: ${reason}`
    throw new CascadeError('MODEL_INVALID', message, { cause })
  }
  return (text) => {
    const shown = text.slice(0, maxTokens * charactersPerToken)
    const { ids } = tokenizer.encode(shown)
    if (ids.length <= maxTokens) return { ids, truncated: shown.length < text.length }
    const bare = tokenizer.encode(shown, { add_special_tokens: false }).ids
    const before = startOf(bare, ids)
    const behind = ids.slice(before + bare.length)
    const kept = Math.max(0, maxTokens - before - behind.length)
    return { ids: [...ids.slice(0, before), ...bare.slice(0, kept), ...behind], truncated: true }
  }
}

/** How many special tokens stand before the text. */
function startOf(bare: readonly number[], ids: readonly number[]): number {
  const most = ids.length - bare.length
  for (let start = 0; start < most; start++) {
    if (bare.every((id, i) => ids[start + i] === id)) return start
  }
  return Math.max(0, most)
}
