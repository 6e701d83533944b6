import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { longerIsBetter } from '../src/cli/reward-model/pairs.ts'
import {
  defaultShape,
  encodeAnswer,
  fitDefaults,
  freshModel,
  type TextPair,
  type TrainedReward,
  trainRewardModel,
} from '../src/model/reward/index.ts'
import { wilson } from '../src/policy/wilson.ts'
import { heldOutPairs, trainingPairs } from '../src/tasks/preference.ts'
import { type Figure, median } from './figure.ts'
import { runPeer } from './peers/python.ts'

export const summary =
  'a reward model on the built-in pairs: held-out pairs right over seeds, against their lengths alone; pairs/s against PyTorch'

const { batch } = fitDefaults
const heldOutCount = 1024

/**
 * As `cascade reward-model train` does by default. `held-out/seed N`: percent right against the better of the two guesses by length, with the interval in the figure's name;
 * `without prompts`: the same training where neither training nor held-out pairs show their prompts. `pairs/s/torch`: whole updates
 * interleaved, the median of the rounds. `PEERS_PYTHON` names a Python with torch and transformers.
 */
export async function* run(seeds = [1, 2, 3, 4, 5], rounds = 5): AsyncGenerator<Figure> {
  for (const seed of seeds) yield await learned(`held-out/seed ${seed}`, seed, (pair) => pair)
  yield await learned('without prompts/seed 1', 1, (pair) => ({ ...pair, prompt: '' }))
  yield await speed(rounds)
}

async function learned(name: string, seed: number, show: (pair: TextPair) => TextPair): Promise<Figure> {
  const began = performance.now()
  const heldOut = heldOutPairs(seed, heldOutCount)
  const { heldOut: score } = await trained(seed, fitDefaults.steps, heldOut.map(show), show)
  const [low, high] = wilson(score.right / score.pairs, score.pairs).map(percent)
  const longer = longerIsBetter(heldOut)
  const [ours, peer] = [score.right / score.pairs, Math.max(longer, 1 - longer)]
  return {
    bench: 'reward-model',
    figure: `${name} (${low}-${high})`,
    ours: percent(ours),
    peer: percent(peer),
    ratio: Number((ours / peer).toFixed(2)),
    unit: `% of ${heldOutCount} pairs`,
    seconds: (performance.now() - began) / 1000,
  }
}

const percent = (share: number): number => Math.round(1000 * share) / 10

function trained(
  seed: number,
  steps: number,
  heldOut: readonly TextPair[],
  show: (pair: TextPair) => TextPair,
): Promise<TrainedReward> {
  const pairs = trainingPairs(seed, steps * batch).map(show)
  const start = freshModel(defaultShape, seed)
  const fit = { ...fitDefaults, steps, seed }
  return trainRewardModel({ start, pairs, heldOut, fit }, new AbortController().signal)
}

async function speed(rounds: number): Promise<Figure> {
  const began = performance.now()
  const steps = 40
  const rates = { ours: [] as number[], peer: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    rates.peer.push((steps * batch) / (await peerSeconds(steps)))
    const { trainMs } = await trained(round, steps, heldOutPairs(0, 8), (pair) => pair)
    rates.ours.push((1000 * steps * batch) / trainMs)
  }
  const [ours, peer] = [median(rates.ours), median(rates.peer)].map(Math.round)
  return {
    bench: 'reward-model',
    figure: 'update/torch',
    ours: ours!,
    peer: peer!,
    ratio: Number((ours! / peer!).toFixed(2)),
    unit: 'pairs/s',
    seconds: (performance.now() - began) / 1000,
  }
}

async function peerSeconds(steps: number): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'reward-model-'))
  try {
    const { head: _, ...config } = freshModel(defaultShape, 0).config
    const pairs = trainingPairs(0, steps * batch).map(({ prompt, chosen, rejected }) =>
      [chosen, rejected].map((response) => Array.from(encodeAnswer({ prompt, response }))),
    )
    const file = join(folder, 'pairs.json')
    await writeFile(file, JSON.stringify({ config, pairs, batch, steps }))
    const stdout = await runPeer('torch_reward.py', [file], ['torch', 'transformers'])
    return z.object({ seconds: z.number() }).parse(JSON.parse(stdout)).seconds
  } finally {
    await rm(folder, { recursive: true })
  }
}
