import { z } from 'zod'
import { openEngine } from '../src/model/engine/index.ts'
import { type Figure, median } from './figure.ts'
import { runPeer } from './peers/python.ts'
import { updateShapes } from './update-step.ts'
import { groupSize, sampleGroups } from './workloads/sampling.ts'

export const summary = 'tokens sampled a second, 4 layers x 128 and 6 x 256: against Hugging Face generate'

const promptTokens = 32

/**
 * Sampled at temperature 1 and top-p 0.95 from prompts of 32 tokens, 64 new tokens a row and no stop token, so that both sides sample
 * as many; two threads each. Rounds are interleaved, a round being one batch after one that warms up.
 */
export async function* run(rounds = 5, batches = [64, 256], newTokens = 64): AsyncGenerator<Figure> {
  for (const [shape, config] of Object.entries(updateShapes)) {
    for (const batch of batches) {
      const began = performance.now()
      const ours: number[] = []
      const theirs: number[] = []
      await using engine = await openEngine({ config, threads: 2, maxRows: batch })
      const groups = batch / groupSize
      for (let round = 0; round < rounds; round++) {
        await sampleGroups(engine, { groups, newTokens, promptTokens, topP: 0.95, round: 2 * round })
        const start = performance.now()
        await sampleGroups(engine, { groups, newTokens, promptTokens, topP: 0.95, round: 2 * round + 1 })
        ours.push((batch * newTokens * 1000) / (performance.now() - start))
        theirs.push((batch * newTokens) / (await generateSeconds(shape, batch, newTokens)))
      }
      const [mine, peer] = [Math.round(median(ours)), Math.round(median(theirs))]
      yield {
        bench: 'decode',
        figure: `${shape}, batch ${batch}/transformers`,
        ours: mine,
        peer,
        ratio: Number((mine / peer).toFixed(2)),
        unit: 'tokens/s',
        seconds: (performance.now() - began) / 1000,
      }
    }
  }
}

async function generateSeconds(shape: string, batch: number, newTokens: number): Promise<number> {
  const args = [shape, batch, promptTokens, newTokens, 2].map(String)
  const stdout = await runPeer('hf_generate.py', args, ['torch', 'transformers'])
  return z.object({ seconds: z.number() }).parse(JSON.parse(stdout)).seconds
}
