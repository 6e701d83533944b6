import { CascadeError } from '../../../topics/errors.ts'

/**
 * One token a character: newline and printable ASCII. Special tokens have names outside of that alphabet, so that no text
 * can spell one. Ids never change: they stand in logs and checkpoints.
 */
export interface CharTokenizer {
  readonly padId: number
  readonly bosId: number
  /** Ends a response. */
  readonly eosId: number
  /** A multiple of 8; the ids beyond the characters are reserved. */
  readonly vocabSize: number
  /**
   * Adds no special token.
   *
   * @throws CascadeError RECORD_INVALID naming the first character outside the alphabet
   */
  encode(text: string): Int32Array
  /** Special and reserved tokens are left out. @throws CascadeError RECORD_INVALID for an id outside the vocabulary */
  decode(tokens: ArrayLike<number>): string
  /** The text of a Hugging Face `tokenizer.json` with the same ids. */
  toJson(): string
}

const characters = ['\n', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))]
const leading = ['⟨pad⟩', '⟨bos⟩', '⟨eos⟩']
const used = leading.length + characters.length
const vocabSize = Math.ceil(used / 8) * 8
const reserved = Array.from({ length: vocabSize - used }, (_, i) => `⟨reserved-${i}⟩`)

const ids = new Map(characters.map((c, i) => [c, leading.length + i]))

function encode(text: string): Int32Array {
  const tokens = new Int32Array(text.length)
  let at = 0
  for (const character of text) {
    const id = ids.get(character)
    if (id === undefined) {
      const point = character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
      throw new CascadeError(
        'RECORD_INVALID',
        `text: expected newline or printable ASCII, got ${JSON.stringify(character)} (U+${point}) at index ${at}`,
      )
    }
    tokens[at++] = id
  }
  return tokens
}

function decode(tokens: ArrayLike<number>): string {
  let text = ''
  for (let i = 0; i < tokens.length; i++) {
    const id = tokens[i]!
    if (!Number.isInteger(id) || id < 0 || id >= vocabSize) {
      throw new CascadeError(
        'RECORD_INVALID',
        `token ${i}: expected an id from 0 to ${vocabSize - 1}, got ${id}`,
      )
    }
    text += characters[id - leading.length] ?? ''
  }
  return text
}

function toJson(): string {
  const all = [...leading, ...characters, ...reserved]
  const special = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  const json = {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: all.flatMap((content, id) => (ids.has(content) ? [] : [{ id, content, ...special }])),
    normalizer: null,
    pre_tokenizer: { type: 'Split', pattern: { Regex: '[\\s\\S]' }, behavior: 'Isolated', invert: false },
    post_processor: null,
    decoder: { type: 'Fuse' },
    model: {
      type: 'WordLevel',
      vocab: Object.fromEntries(all.map((token, id) => [token, id])),
      // Not in the vocabulary: a foreign character is an error there too.
      unk_token: '⟨unknown⟩',
    },
  }
  return `${JSON.stringify(json, null, 2)}\n`
}

export const tokenizer: CharTokenizer = { padId: 0, bosId: 1, eosId: 2, vocabSize, encode, decode, toJson }
