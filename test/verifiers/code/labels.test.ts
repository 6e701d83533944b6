import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CaseJudge } from '../../../src/verifiers/case-kind.ts'
import { type CodeCase, codeKind } from '../../../src/verifiers/code/index.ts'
import { sharedData } from '../../shared-data.ts'
import { knownDifferences, labelledCases, pythonReferences } from './labelled.ts'

/** Every how manyth program; `bench/code-labels.ts` judges all of them. */
const stride = process.env.CASCADE_SWEEP ? 1 : 29
const present = sharedData('mbxp/labels.derived.jsonl') !== undefined
const read = (path: string) => readFileSync(sharedData(path)!, 'utf8')
const some = <T>(all: readonly T[]) => all.filter((_, i) => i % stride === 0)

describe.skipIf(!present)('programs whose outcome is known', () => {
  const signal = new AbortController().signal
  let judge: CaseJudge<CodeCase>
  beforeAll(async () => {
    judge = await codeKind.open({ jobs: 1, flags: {} })
  })
  afterAll(() => judge[Symbol.asyncDispose]())

  it('differ in one of a hundred at most, where TypeScript is read as it was when they were measured', () => {
    expect(knownDifferences('wasm', 'recover').size).toBeLessThanOrEqual(
      labelledCases(read, 'recover').length / 100,
    )
  })

  it.each(['recover', 'strict'] as const)(
    'are judged as they were measured, but for those that are explained: %s',
    async (syntax) => {
      const all = labelledCases(read, syntax)
      // Of no account to other languages, which the first round judges.
      const concerned = all.filter(({ given }) => syntax === 'recover' || given.language === 'typescript')
      const cases = some(concerned)
      const differences = knownDifferences('wasm', syntax)
      const differ = await Promise.all(
        cases.map(async ({ given, passed }) => {
          const verdict = await judge.judge(given, signal)
          return verdict.outcome !== 'score' || (verdict.score === 1) !== passed ? [given.id] : []
        }),
      )
      expect(cases.length).toBeGreaterThan(40)
      expect(differ.flat()).toEqual(cases.map(({ given }) => given.id).filter((id) => differences.has(id)))
    },
  )

  it('pass where they are Python references', async () => {
    const cases = some(pythonReferences(read))
    const verdicts = await Promise.all(
      cases.map(async (given) => ({ id: given.id, verdict: await judge.judge(given, signal) })),
    )
    expect(verdicts.filter(({ verdict }) => verdict.outcome !== 'score' || verdict.score !== 1)).toEqual([])
  })
})
