import { type Engine, openEngine } from '../src/model/engine/index.ts'
import { type Figure, median } from './figure.ts'
import { updateShapes } from './update-step.ts'
import { groupSize, sampleGroups } from './workloads/sampling.ts'

export const summary = 'what deterministic decoding costs: against continuous batching of the same engine'

/**
 * 16 groups of 8, temperature 1, 32 new tokens a row. `ours` is the deterministic mode, where each group is decoded alone, and the
 * peer the usual one: the ratio is the share of the rate that stays.
 */
export async function* run(rounds = 5, groups = 16, newTokens = 32): AsyncGenerator<Figure> {
  for (const [shape, config] of Object.entries(updateShapes)) {
    const began = performance.now()
    await using exact = await openEngine({ config, threads: 2, deterministic: true })
    await using usual = await openEngine({ config, threads: 2 })
    const rate = async (engine: Engine, round: number) => {
      const start = performance.now()
      await sampleGroups(engine, { groups, newTokens, topP: 1, round })
      return (groups * groupSize * newTokens * 1000) / (performance.now() - start)
    }
    const rates: [number[], number[]] = [[], []]
    for (let round = 0; round <= rounds; round++) {
      const both = [await rate(exact, round), await rate(usual, round)] as const
      // The first round makes the sessions.
      if (round > 0) for (const [i, value] of both.entries()) rates[i]!.push(value)
    }
    const [ours, peer] = [Math.round(median(rates[0])), Math.round(median(rates[1]))]
    yield {
      bench: 'deterministic',
      figure: `${shape}/usual`,
      ours,
      peer,
      ratio: Number((ours / peer).toFixed(2)),
      unit: 'tokens/s',
      seconds: (performance.now() - began) / 1000,
    }
  }
}
