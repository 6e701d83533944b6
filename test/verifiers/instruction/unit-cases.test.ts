import { describe, expect, it } from 'vitest'
import { instructionKinds } from '../../../src/verifiers/instruction/index.ts'
import { sharedData } from '../../shared-data.ts'
import { ifbenchCheckers, ifevalCheckers, unlistedCheckers } from './checkers.ts'
import { judgeOne } from './judge.ts'
import { lines, type UnitCase } from './lines.ts'

const sets = [
  { path: 'ifeval/unit_cases.jsonl', checkers: ifevalCheckers, count: 71, errors: 10 },
  { path: 'ifbench/unit_cases.jsonl', checkers: ifbenchCheckers, count: 122, errors: 0 },
]

describe.each(sets)('$path', ({ path, checkers, count, errors }) => {
  it.skipIf(!sharedData(path))('every row is judged as published', () => {
    const rows = lines<UnitCase>(path)
    expect(rows).toHaveLength(count)
    const unlisted = rows.filter((row) => unlistedCheckers.has(row.checker))
    expect(unlisted).toHaveLength(errors)
    for (const row of unlisted) {
      expect(() => judgeOne(row.instruction_id, row.kwargs, row.response)).toThrow(/instructions\[0\]\.id/)
    }
    const wrong = rows
      .filter((row) => !unlistedCheckers.has(row.checker))
      .filter((row) => follows(checkers[row.checker], row) !== row.expected)
    expect(wrong).toEqual([])
  })
})

/** An empty response is no answer to a judge, though a checker may have an opinion of it. */
function follows(id: string | undefined, row: UnitCase): boolean {
  const kind = instructionKinds[id!]!
  if (row.response !== '') return judgeOne(id!, row.kwargs, row.response)
  expect(judgeOne(id!, row.kwargs, '')).toBe(false)
  return kind.follows('', kind.kwargs.parse(row.kwargs ?? {}))
}
