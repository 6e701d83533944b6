import type { Engine } from '../../model/engine/index.ts'
import type { MicroBatch } from '../../model/train/trainer.ts'
import type { CascadeConfig } from '../config.ts'
import type { Plan, StagePlan } from './plan.ts'

/** Tokens a second, measured with weights that know nothing. */
export interface Rates {
  readonly sampled: number
  readonly trained: number
}

/** Tokens of a response that are sampled to measure, at most. */
const sampledAtMost = 64
/** What is measured is repeated for so long, in milliseconds, or so often. */
const measureMs = 500
const mostRounds = 8

/** Samples and updates as a stage does. The first time does not count, since it builds the graphs; of the others the fastest does. */
export async function measureRates(
  engine: Engine,
  config: CascadeConfig,
  stage: StagePlan,
  signal: AbortSignal,
): Promise<Rates> {
  const spec = config.stages.find((s) => s.name === stage.name)!
  const groupSize = spec.kind === 'rl' ? spec.groupSize : 1
  const rows = spec.kind === 'rl' ? spec.prompts * groupSize : spec.batch
  const best = async (work: (round: number) => Promise<number>) => {
    await work(0)
    let rate = 0
    const end = performance.now() + measureMs
    for (let round = 1; round <= mostRounds && (round === 1 || performance.now() < end); round++) {
      signal.throwIfAborted()
      const began = performance.now()
      const tokens = await work(round)
      rate = Math.max(rate, tokens / ((performance.now() - began) / 1000))
    }
    return rate
  }
  const length = Math.min(stage.responseTokens, sampledAtMost)
  const groups = Math.max(1, Math.floor(Math.min(rows, config.engine.decodeRows) / groupSize))
  const sampled =
    spec.kind === 'rl'
      ? await best((round) => sample(engine, { groups, groupSize, length, stage, round, signal }))
      : 0
  const trained = await best(() =>
    update(engine, { rows, cols: stage.promptTokens + length, stage, limit: config.engine.microBatchTokens }),
  )
  return { sampled, trained }
}

/** Seconds of each stage and of all evaluations. What verifiers take is not in it, nor what is done while others wait. */
export function timeOf(
  plan: Plan,
  rates: ReadonlyMap<string, Rates>,
): { stages: number[]; evaluations: number } {
  const stages = plan.stages.map((s) => {
    const { sampled, trained } = rates.get(s.name)!
    return (s.sampledTokens === 0 ? 0 : s.sampledTokens / sampled) + s.trainedTokens / trained
  })
  const decoding = Math.max(...[...rates.values()].map((r) => r.sampled))
  return { stages, evaluations: decoding === 0 ? 0 : plan.evaluations.sampledTokens / decoding }
}

async function sample(
  engine: Engine,
  {
    groups,
    groupSize,
    length,
    stage,
    round,
    signal,
  }: {
    groups: number
    groupSize: number
    length: number
    stage: StagePlan
    round: number
    signal: AbortSignal
  },
): Promise<number> {
  const sampling = {
    temperature: 1,
    topP: 1,
    topK: 0,
    maxTokens: length,
    stopTokens: [],
    logprobsMode: 'raw' as const,
  }
  let tokens = 0
  await Promise.all(
    Array.from({ length: groups }, (_, admission) =>
      engine.generate(
        {
          prompt: Int32Array.from(
            { length: stage.promptTokens },
            (_, i) => (admission + i) % engine.config.vocab_size,
          ),
          rows: groupSize,
          sampling,
          seed: { run: round, stage: 'plan', admission },
        },
        (_, row) => {
          tokens += row.tokens.length
        },
        signal,
      ),
    ),
  )
  return tokens
}

async function update(
  engine: Engine,
  { rows, cols, stage, limit }: { rows: number; cols: number; stage: StagePlan; limit: number },
): Promise<number> {
  const perBatch = Math.max(1, Math.min(rows, Math.floor(limit / cols)))
  const size = perBatch * cols
  const micro: MicroBatch = {
    rows: perBatch,
    cols,
    tokens: Int32Array.from({ length: size }, (_, i) => i % engine.config.vocab_size),
    valid: new Uint8Array(size).fill(1),
    lossMask: Uint8Array.from({ length: size }, (_, i) => (i % cols < stage.promptTokens ? 0 : 1)),
    weights: new Float32Array(size).fill(1 / size),
  }
  const options = {
    lr: 0,
    betas: [0.9, 0.95] as [number, number],
    eps: 1e-8,
    weightDecay: 0,
    maxGradNorm: 1,
    temperature: 1,
    klCoef: 0,
  }
  const batches = Math.max(1, Math.min(4, Math.ceil(rows / perBatch)))
  await engine.step(
    Array.from({ length: batches }, () => micro),
    options,
  )
  return batches * size
}
