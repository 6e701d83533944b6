import { z } from 'zod'
import type { ModelConfig } from '../src/model/config.ts'
import { type MicroBatch, Trainer, type UpdateOptions } from '../src/model/train/trainer.ts'
import { initWeights } from '../src/model/weights/init.ts'
import { type Figure, median } from './figure.ts'
import { runPeer } from './peers/python.ts'

export const summary = 'one update step (forward, gradients, clipping, AdamW): against PyTorch eager'

/**
 * Milliseconds of one whole update step of 64 x 64 tokens on each shape, ours and PyTorch in turns: the median over `rounds` of the
 * medians of `steps`. Once as a GRPO step has them, 8 prompts of 32 tokens with 8 responses each, and once as whole sequences that have
 * nothing in common and are all trained on. `PEERS_PYTHON` names a Python with torch and transformers.
 */
export async function* run(rounds = 5, steps = 10, threads = 2): AsyncGenerator<Figure> {
  for (const [shape, config] of Object.entries(updateShapes)) {
    for (const batch of ['groups', 'sequences'] as const) {
      const began = performance.now()
      const ours: number[] = []
      const peers: number[] = []
      for (let round = 0; round < rounds; round++) {
        ours.push(median(await timeUpdateSteps(config, batch, steps, threads)))
        peers.push(await torch(shape, batch, steps, threads))
      }
      const [mine, peer] = [median(ours), median(peers)]
      yield {
        bench: 'update-step',
        figure: `${shape}, ${batch}/torch`,
        ours: Number(mine.toFixed(1)),
        peer: Number(peer.toFixed(1)),
        ratio: Number((peer / mine).toFixed(2)),
        unit: 'ms',
        seconds: (performance.now() - began) / 1000,
      }
    }
  }
}

const base = {
  vocab_size: 128,
  head_dim: 32,
  rms_norm_eps: 1e-5,
  rope_theta: 10_000,
  max_position_embeddings: 256,
  tie_word_embeddings: false,
}

export const updateShapes: Record<string, ModelConfig> = {
  small: {
    ...base,
    hidden_size: 128,
    num_hidden_layers: 4,
    num_attention_heads: 4,
    num_key_value_heads: 4,
    intermediate_size: 384,
  },
  large: {
    ...base,
    hidden_size: 256,
    num_hidden_layers: 6,
    num_attention_heads: 8,
    num_key_value_heads: 4,
    intermediate_size: 768,
  },
}

const options: UpdateOptions = {
  lr: 1e-4,
  betas: [0.9, 0.999],
  eps: 1e-8,
  weightDecay: 0.01,
  maxGradNorm: 1,
  temperature: 1,
  clipLow: 0.2,
  clipHigh: 0.28,
  klCoef: 0,
}

type Kind = 'groups' | 'sequences'

const promptLength = 32
const groupSize = 8

/** 64 rows of 64 tokens. The last token of a sequence is predicted but not read, so that it has one more. */
function batchOf(vocab: number, kind: Kind, rows = 64): MicroBatch {
  const cols = kind === 'groups' ? 64 : 65
  const first = kind === 'groups' ? promptLength : 1
  const size = rows * cols
  let state = 1
  const next = () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return state >>> 8
  }
  const tokens = Int32Array.from({ length: size }, () => next() % vocab)
  if (kind === 'groups') {
    for (let row = 0; row < rows; row++) {
      const leader = row - (row % groupSize)
      tokens.copyWithin(row * cols, leader * cols, leader * cols + promptLength)
    }
  }
  const trained = rows * (cols - first)
  return {
    rows,
    cols,
    tokens,
    valid: new Uint8Array(size).fill(1),
    lossMask: Uint8Array.from({ length: size }, (_, i) => (i % cols < first ? 0 : 1)),
    weights: Float32Array.from({ length: size }, (_, i) => (i % 2 === 0 ? 1 : -1) / trained),
  }
}

/** Times of single steps after a warm-up, in milliseconds. */
export async function timeUpdateSteps(
  config: ModelConfig,
  kind: Kind,
  steps: number,
  threads: number,
): Promise<number[]> {
  const weights = initWeights(config, 1)
  await using trainer = new Trainer(config, { weights, session: { intraOpNumThreads: threads } })
  const batch = batchOf(config.vocab_size, kind)
  for (let i = 0; i < 3; i++) await trainer.step(batch, options)
  const times: number[] = []
  for (let i = 0; i < steps; i++) {
    const start = performance.now()
    await trainer.step(batch, options)
    times.push(performance.now() - start)
  }
  return times
}

/** Median milliseconds of a step in PyTorch. */
async function torch(shape: string, kind: Kind, steps: number, threads: number): Promise<number> {
  const args = [shape, kind, String(steps), String(threads)]
  const stdout = await runPeer('torch_update.py', args, ['torch', 'transformers'])
  return z.object({ median_ms: z.number() }).parse(JSON.parse(stdout)).median_ms
}
