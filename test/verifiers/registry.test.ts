import { describe, expect, test } from 'vitest'
import { verifiers } from '../../src/verifiers/index.ts'
import { instruction } from '../../src/verifiers/instruction/index.ts'
import { ruleVerifier, type Samples } from '../../src/verifiers/judge.ts'
import { math } from '../../src/verifiers/math/index.ts'
import { builtInVerifiers, preflightBuiltIn } from '../../src/verifiers/registry.ts'

describe('preflight', () => {
  test.each(Object.entries({ ...verifiers, instruction, math }))('%s knows its samples', (name, make) => {
    expect(() => preflightBuiltIn(name, make)).not.toThrow()
  })

  const made = (samples: Samples, score: number | 'broken') => () =>
    ruleVerifier({
      name: 'x',
      version: '1',
      sources: [],
      samples,
      judge: () => {
        if (score === 'broken') throw new Error('broken')
        return { outcome: 'score', score }
      },
    })
  const one = [{ response: '', truth: null }]
  test.each<[string, Samples, number | 'broken', string]>([
    [
      'a good sample that fails',
      { good: one, bad: one },
      0.4,
      'good sample 0: expected a score of at least 0.5, got 0.4',
    ],
    [
      'a bad sample that passes',
      { good: one, bad: one },
      1,
      'bad sample 0: expected a score of less than 0.5, got 1',
    ],
    ['an error', { good: one, bad: one }, 'broken', 'good sample 0: verifier x: crashed: Error: broken'],
    ['no samples', { good: [], bad: one }, 1, 'expected a good and a bad sample, got none'],
  ])('%s stops the run', (_, samples, score, message) => {
    expect(() => preflightBuiltIn('x', made(samples, score))).toThrow(
      expect.objectContaining({ code: 'VERIFIER_FAILED', message: `verifier x: ${message}` }),
    )
  })
})

test('a name that is none is refused, a version that is another is not handed out', () => {
  const registry = builtInVerifiers()
  expect(() => registry.current('toString')).toThrow(/expected one of .*sum, wording, got toString/)
  const { version, codeHash } = registry.current('sum')
  expect(registry.pinned('sum', version, codeHash)).toBe(registry.current('sum'))
  expect(registry.pinned('sum', version, 'other')).toBeUndefined()
})
