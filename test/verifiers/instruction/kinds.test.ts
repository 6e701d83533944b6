import { describe, expect, it } from 'vitest'
import { instructionKinds } from '../../../src/verifiers/instruction/index.ts'
import { judgeOne } from './judge.ts'
import { pairs } from './pairs.ts'

describe('every instruction', () => {
  it('has a text that follows it and one that does not', () => {
    expect(Object.keys(pairs).sort()).toEqual(Object.keys(instructionKinds).sort())
    expect(Object.keys(pairs)).toHaveLength(83)
  })

  it.each(Object.entries(pairs))('%s', (id, { kwargs = {}, pass, fail }) => {
    expect(judgeOne(id, kwargs, pass)).toBe(true)
    expect(judgeOne(id, kwargs, fail)).toBe(false)
    expect(judgeOne(id, kwargs, ' \n')).toBe(false)
  })

  it.each(Object.entries(pairs))(
    '%s refuses arguments that it does not know and misses none',
    (id, { kwargs = {}, pass }) => {
      expect(() => judgeOne(id, { ...kwargs, unheard_of: 1 }, pass)).toThrow(
        /instructions\[0\]\.kwargs.*unheard_of/,
      )
      for (const [key, value] of Object.entries(kwargs)) {
        if (typeof value === 'string' && key !== 'reference_text') {
          expect(() => judgeOne(id, { ...kwargs, [key]: '' }, pass)).toThrow(`kwargs.${key}`)
        }
        expect(() => judgeOne(id, { ...kwargs, [key]: null }, pass)).toThrow(`kwargs.${key}`)
        expect(() => judgeOne(id, { ...kwargs, [key]: {} }, pass)).toThrow(`kwargs.${key}`)
      }
    },
  )
})
