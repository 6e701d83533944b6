import { readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { opCases } from './cases.ts'
import { gradientError, numericGradients } from './check-gradient.ts'

const tolerance = 1e-3

test('every operator has a case', async () => {
  const folder = new URL('../../../src/model/graph/ops/', import.meta.url)
  const modules = await Promise.all(
    readdirSync(folder).map((file) => import(new URL(file, folder).href) as Promise<Record<string, unknown>>),
  )
  const operators = modules
    .flatMap((m) => Object.values(m))
    .filter((v) => typeof v === 'object' && v !== null && 'emit' in v)
  expect(new Set(opCases.map((c) => c.op))).toStrictEqual(new Set(operators))
})

/** Zeros that other nodes write into: their sign means nothing. */
const signless = (type: string) => type === 'ConstantOfShape'

describe.each(opCases)('$title', (c) => {
  const numeric = numericGradients(c)

  test.each([false, true])(
    'has the gradient of central differences (added to another: %s)',
    async (withAcc) => {
      expect((await gradientError(c, await numeric, { withAcc })).error).toBeLessThan(tolerance)
    },
  )

  test.each([false, true])('a wrong sign at any node of its gradient is found (%s)', async (withAcc) => {
    const { nodes } = await gradientError(c, await numeric, { withAcc })
    const missed: string[] = []
    for (const [fault, type] of nodes.entries()) {
      if (signless(type)) continue
      const error = await gradientError(c, await numeric, { withAcc, fault }).then(
        (r) => r.error,
        // An index with the wrong sign may stop the run instead.
        () => Number.POSITIVE_INFINITY,
      )
      if (!(error > tolerance)) missed.push(`${fault}: ${type}`)
    }
    expect(missed).toStrictEqual(c.zeros ?? [])
  })
})
