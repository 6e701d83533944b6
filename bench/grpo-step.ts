import { z } from 'zod'
import {
  type Engine,
  type GeneratedRow,
  type MicroBatch,
  openEngine,
  type UpdateOptions,
} from '../src/model/engine/index.ts'
import { groupAdvantages } from '../streams/advantages.ts'
import { type Figure, median } from './figure.ts'
import { runPeer } from './peers/python.ts'
import { updateShapes } from './update-step.ts'
import { groupSize, prompt, promptLength, sampleGroups } from './workloads/sampling.ts'

export const summary =
  "a whole GRPO step, 16 prompts x 8, 16 and 32 new tokens: against TRL's GRPOTrainer on the processor"

const groups = 16

const options: UpdateOptions = {
  lr: 1e-4,
  betas: [0.9, 0.999],
  eps: 1e-8,
  weightDecay: 0,
  maxGradNorm: 1,
  temperature: 1,
  klCoef: 0,
}

/**
 * Seconds a step: sample, reward, advantages, update. Both sides sample at temperature 1 to the full length and are rewarded by
 * the share of even token ids; no KL, one optimiser step a batch, two threads. Rounds of 5 steps after 2 that warm up, interleaved.
 */
export async function* run(rounds = 3, lengths = [16, 32], steps = 5): AsyncGenerator<Figure> {
  for (const [shape, config] of Object.entries(updateShapes)) {
    for (const newTokens of lengths) {
      const began = performance.now()
      const ours: number[] = []
      const theirs: number[] = []
      await using engine = await openEngine({ config, threads: 2 })
      for (let round = 0; round < rounds; round++) {
        for (let i = 0; i < steps + 2; i++) {
          const start = performance.now()
          await grpoStep(engine, newTokens, round * (steps + 2) + i)
          if (i >= 2) ours.push((performance.now() - start) / 1000)
        }
        theirs.push(...(await trlSeconds(shape, newTokens, steps)))
      }
      const [mine, peer] = [median(ours), median(theirs)]
      yield {
        bench: 'grpo-step',
        figure: `${shape}, ${newTokens} new tokens/trl`,
        ours: Number(mine.toFixed(4)),
        peer: Number(peer.toFixed(4)),
        ratio: Number((peer / mine).toFixed(2)),
        unit: 's',
        seconds: (performance.now() - began) / 1000,
      }
    }
  }
}

async function grpoStep(engine: Engine, newTokens: number, round: number): Promise<void> {
  const sampled = await sampleGroups(engine, { groups, newTokens, topP: 1, round })
  const advantages = sampled.flatMap((rows) => {
    const judged = rows.map((row, index) => ({
      rolloutId: `${index}`,
      index,
      rolloutOffset: 0,
      rolloutHash: '',
      reward: reward(row),
      responseLength: row.tokens.length,
      truncated: false,
    }))
    const { members } = groupAdvantages(judged, {
      overlong: 'score',
      deviation: 'population',
      minSpread: 1e-6,
    })
    return members.map((m) => m.advantage ?? 0)
  })
  await engine.step([pack(engine, sampled, advantages)], options)
}

/** The share of even token ids, as in bench/peers/trl_grpo.py. */
function reward({ tokens }: GeneratedRow): number {
  return tokens.filter((t) => t % 2 === 0).length / tokens.length
}

function pack(engine: Engine, sampled: readonly GeneratedRow[][], advantages: readonly number[]): MicroBatch {
  const all = sampled.flat()
  const cols = promptLength + all[0]!.tokens.length
  const size = all.length * cols
  const trained = all.length * all[0]!.tokens.length
  const batch: MicroBatch = {
    rows: all.length,
    cols,
    tokens: new Int32Array(size),
    valid: new Uint8Array(size).fill(1),
    lossMask: new Uint8Array(size),
    weights: new Float32Array(size),
  }
  for (const [i, { tokens }] of all.entries()) {
    const response = i * cols + promptLength
    batch.tokens.set(prompt(engine.config, Math.floor(i / groupSize)), i * cols)
    batch.tokens.set(tokens, response)
    batch.lossMask.fill(1, response, response + tokens.length)
    batch.weights.fill(advantages[i]! / trained, response, response + tokens.length)
  }
  return batch
}

async function trlSeconds(shape: string, newTokens: number, steps: number): Promise<number[]> {
  const args = [shape, promptLength, newTokens, steps, 2].map(String)
  const stdout = await runPeer('trl_grpo.py', args, ['torch', 'transformers', 'trl'])
  const last = stdout.trim().split('\n').at(-1) ?? ''
  return z.object({ seconds: z.array(z.number()) }).parse(JSON.parse(last)).seconds
}
