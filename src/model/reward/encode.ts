import { CascadeError, isCascadeError } from '../../../topics/errors.ts'
import { tokenizer } from '../tokenizer/index.ts'

/** A prompt and a response to it. */
export interface Answered {
  readonly prompt: string
  readonly response: string
}

/**
 * The tokens that are judged, as a policy has them: bos, prompt, response, eos. The reward is read at eos.
 *
 * @throws CascadeError RECORD_INVALID naming the field and its first character outside the alphabet; `name` is that of the response
 */
export function encodeAnswer({ prompt, response }: Answered, name = 'response'): Int32Array {
  const [a, b] = [encodeField('prompt', prompt), encodeField(name, response)]
  const tokens = new Int32Array(a.length + b.length + 2)
  tokens[0] = tokenizer.bosId
  tokens.set(a, 1)
  tokens.set(b, 1 + a.length)
  tokens[tokens.length - 1] = tokenizer.eosId
  return tokens
}

function encodeField(name: string, text: string): Int32Array {
  try {
    return tokenizer.encode(text)
  } catch (cause) {
    if (!isCascadeError(cause)) throw cause
    throw new CascadeError(cause.code, `${name}: ${cause.message}`, { cause })
  }
}

/** Tokens of {@link encodeAnswer}, without the work. */
export function answerLength({ prompt, response }: Answered): number {
  return prompt.length + response.length + 2
}
