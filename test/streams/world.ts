import { createHash } from 'node:crypto'
import { from, type SchedulerLike, Subscription } from 'rxjs'
import { follow, recordAt } from '../../streams/follow.ts'
import type {
  Clock,
  Evaluator,
  Policy,
  PromptSource,
  Sample,
  TopicLog,
  UpdateSink,
  Verifier,
} from '../../streams/ports.ts'
import type { Verifiers } from '../../streams/verify.ts'
import {
  CascadeError,
  type Checkpoint,
  checkpoints,
  type Evaluation,
  type GradientBatch,
  gradientBatches,
  type Prompt,
  type Update,
} from '../../topics/index.ts'
import { turns } from './helpers.ts'
import { checkpointOf } from './stages.ts'

/** A world small enough to run a whole cascade in milliseconds, in which everything follows from the weights. */

const pool = 5

export const arithmetic: PromptSource & { pool: number } = {
  pool,
  domains: ['math'],
  stopTokens: [0],
  prompt: (_, admission) => {
    const item = admission % pool
    return {
      dataset: 'sums',
      promptId: `p${item}`,
      epoch: Math.floor(admission / pool),
      visit: Math.floor(admission / pool),
      promptTokens: Int32Array.of(1, item + 2),
      promptText: `sum ${item}`,
      groundTruth: String(item),
      verifier: 'parity',
    }
  },
  demonstration: (_, admission) => ({
    domain: 'math',
    dataset: 'sums',
    promptId: `p${admission % pool}`,
    epoch: Math.floor(admission / pool),
    promptTokens: Int32Array.of(1, 2),
    responseTokens: Int32Array.of((admission % pool) + 3, 0),
  }),
}

/** No time passes: what is measured is 0, and no time-out ever comes. */
export const stillClock: Clock = { now: () => 0 }
export const timeless: SchedulerLike = { now: () => 0, schedule: () => new Subscription() }

function digest(...parts: (string | number | ArrayBufferView)[]): Buffer {
  const hash = createHash('sha256')
  for (const p of parts) {
    hash.update(typeof p === 'object' ? new Uint8Array(p.buffer, p.byteOffset, p.byteLength) : `${p}\n`)
  }
  return hash.digest()
}

/** Weights that are the hash of every batch that made them: one applied twice, left out or out of order shows. */
export class Model implements UpdateSink, Policy, Evaluator {
  version = 0
  weights: string
  /** Batches applied by this process, restoring included. */
  applied: string[] = []
  readonly #epoch: number
  #waiting: (() => void)[] = []

  constructor(epoch = 1, weights = 'w') {
    this.#epoch = epoch
    this.weights = weights
  }

  /** The model as the log left it: its last checkpoint, and what was settled since applied again. */
  static async restore(log: TopicLog, epoch: number): Promise<Model> {
    const model = new Model(epoch)
    const records: Checkpoint[] = []
    const { signal } = new AbortController()
    await follow(log, checkpoints, { from: 0, until: 'end', signal }, (r) => void records.push(r.value))
    const last = records.at(-1)
    if (!last) {
      await log.commit({ append: [{ topic: checkpoints, value: checkpointOf() }], settle: [] })
      return model
    }
    model.version = last.version
    model.weights = last.reason === 'initial' ? 'w' : last.weightsHash
    const { floor } = await log.position('update', gradientBatches.name)
    for (let offset = last.gradientBatchOffset; offset < floor; offset++) {
      const batch = (await recordAt(log, gradientBatches, offset))!.value
      if (batch.kind === 'batch') await model.apply(batch, offset)
    }
    return model
  }

  async apply(batch: GradientBatch, offset: number): Promise<Update> {
    if (batch.baseVersion !== this.version) {
      throw new CascadeError('POLICY_VERSION', `expected ${this.version}, got ${batch.baseVersion}`)
    }
    const parts = batch.microBatches.flatMap((m) => [m.tokens, m.lossMask, m.rowWeights])
    this.weights = digest(this.weights, batch.id, JSON.stringify(batch.options), ...parts).toString('hex')
    this.version = batch.version
    this.applied.push(batch.id)
    for (const wake of this.#waiting.splice(0)) wake()
    const { id, stage, domain, step, version, stats } = batch
    const measured = { loss: 0, gradNorm: 0, entropy: 0, kl: 0, clipFraction: 0, ratioMean: 1, ratioMax: 1 }
    const rows = batch.microBatches.reduce((n, m) => n + m.rows, 0)
    return {
      id,
      stage,
      domain,
      step,
      version,
      stats,
      rows,
      ...measured,
      gradientBatchOffset: offset,
      lr: batch.options!.lr,
      tokens: 0,
      staleness: 0,
      durationMs: 0,
    }
  }

  async checkpoint(at: Parameters<UpdateSink['checkpoint']>[0]): Promise<Checkpoint> {
    const { version, weights } = this
    const id = `${version}-${weights.slice(0, 8)}`
    const hashes = { contentHash: weights, weightsHash: weights }
    return checkpointOf({
      ...at,
      ...hashes,
      id,
      version,
      path: `checkpoints/${id}`,
      writerEpoch: this.#epoch,
    })
  }

  async load(): Promise<void> {}

  async ready(version: number, signal: AbortSignal): Promise<void> {
    while (this.version < version) {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push(resolve)
        signal.addEventListener('abort', () => reject(signal.reason), { once: true })
      })
    }
    if (this.version > version) throw new CascadeError('POLICY_VERSION', `${version} is past`)
  }

  generate(prompt: Prompt) {
    return from(Array.from({ length: prompt.groupSize }, (_, i) => this.sample(prompt, i)))
  }

  sample(prompt: Prompt, index: number): Sample {
    const draw = digest(this.weights, prompt.groupId, index)
    const tokens = Int32Array.from(draw.subarray(0, 1 + (draw[9]! % 3)), (b) => 1 + (b % 9))
    const logprobs = Float32Array.from(tokens, (t) => -t / 10)
    return { index, tokens, logprobs, finishReason: 'stop', text: tokens.join(' '), generateMs: 0 }
  }

  async evaluate(checkpoint: Checkpoint, stage: string, domain: string): Promise<Evaluation> {
    const passed = digest(checkpoint.weightsHash, domain)[0]! % 5
    return {
      id: `${stage}/${domain}`,
      stage,
      domain,
      version: checkpoint.version,
      checkpoint: checkpoint.id,
      split: 'held-out',
      metric: 'greedy-accuracy',
      n: 4,
      passed,
      score: passed / 4,
      interval: [0, 1],
      verdicts: Uint8Array.of(0, 0, 0, 0),
      responseLength: 1,
      truncated: 0,
      durationMs: 0,
    }
  }
}

/** Passes every response whose tokens sum to an even number. */
export const parity: Verifier = {
  name: 'parity',
  version: '1',
  codeHash: 'h',
  async verify(rollout) {
    await turns(rollout.responseTokens.length)
    return { outcome: 'score', score: rollout.responseTokens.reduce((s, t) => s + t, 0) % 2 === 0 ? 1 : 0 }
  },
}

export function verifiersOf(verifier: Verifier): Verifiers {
  return { current: () => verifier, pinned: () => verifier }
}
