import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { tokenizer } from '../../../src/model/tokenizer/index.ts'

const alphabet = ['\n', ...Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))]
const text = fc.array(fc.constantFrom(...alphabet)).map((c) => c.join(''))

describe('character tokenizer', () => {
  test('what is encoded decodes to itself, one token a character', () => {
    fc.assert(
      fc.property(text, (s) => {
        const tokens = tokenizer.encode(s)
        expect(tokens.length).toBe(s.length)
        expect(tokenizer.decode(tokens)).toBe(s)
      }),
    )
  })

  test('ids are stable', () => {
    const { padId, bosId, eosId, vocabSize } = tokenizer
    expect({ padId, bosId, eosId, vocabSize }).toEqual({ padId: 0, bosId: 1, eosId: 2, vocabSize: 104 })
    expect(Array.from(tokenizer.encode('\n A~'))).toEqual([3, 4, 37, 98])
    expect(Array.from(tokenizer.encode(alphabet.join('')))).toEqual(alphabet.map((_, i) => i + 3))
  })

  test('special and reserved tokens are left out of the text, wherever they stand', () => {
    fc.assert(
      fc.property(text, fc.constantFrom(0, 1, 2, 99, 103), fc.nat(), (s, special, at) => {
        const tokens = Array.from(tokenizer.encode(s))
        tokens.splice(at % (tokens.length + 1), 0, special)
        expect(tokenizer.decode(tokens)).toBe(s)
      }),
    )
  })

  test.each([
    ['é', '"é" (U+00E9) at index 2'],
    ['\t', '"\\t" (U+0009) at index 2'],
    ['🙂', '"🙂" (U+1F642) at index 2'],
    ['⟨', '"⟨" (U+27E8) at index 2'],
  ])('names the character %j that it cannot encode', (character, named) => {
    expect(() => tokenizer.encode(`ab${character}c`)).toThrow(
      expect.objectContaining({ code: 'RECORD_INVALID', message: expect.stringContaining(named) }),
    )
  })

  test.each([-1, 104, 1.5, Number.NaN])('names an id outside the vocabulary: %j', (id) => {
    expect(() => tokenizer.decode([5, id])).toThrow(expect.objectContaining({ code: 'RECORD_INVALID' }))
  })

  test('tokenizer.json splits into characters of the same ids, and nothing but specials is special', () => {
    const json = JSON.parse(tokenizer.toJson())
    const { vocab, type, unk_token: unknown } = json.model
    expect(type).toBe('WordLevel')
    const ids = Object.values<number>(vocab).sort((a, b) => a - b)
    expect(ids).toEqual(Array.from({ length: tokenizer.vocabSize }, (_, i) => i))
    expect(vocab).not.toHaveProperty(unknown)
    for (const c of alphabet) expect([vocab[c]]).toEqual(Array.from(tokenizer.encode(c)))
    const special = json.added_tokens.map((t: { id: number }) => t.id)
    expect(special).toEqual([0, 1, 2, 99, 100, 101, 102, 103])
    const split = new RegExp(json.pre_tokenizer.pattern.Regex, 'g')
    expect(alphabet.join('').match(split)).toEqual(alphabet)
  })
})
