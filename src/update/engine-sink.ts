import type { Clock, UpdateSink } from '../../streams/ports.ts'
import { CascadeError, type Checkpoint, type GradientBatch, type Update } from '../../topics/index.ts'
import type { MicroBatch, StepResult } from '../model/engine/index.ts'
import { tokenizer } from '../model/tokenizer/index.ts'
import { encodeCheckpoint } from '../model/weights/checkpoint.ts'
import type { VersionedEngine } from '../policy/versioned-engine.ts'
import type { CheckpointStore } from './checkpoint-store.ts'
import { trainingBatch } from './training-batch.ts'

export interface EngineSinkOptions {
  versioned: VersionedEngine
  store: CheckpointStore
  writerEpoch: number
  clock: Clock
  /** Committed checkpoints so far, in order. */
  checkpoints: readonly Kept[]
  /** `interval` checkpoints to keep besides those of stages; up to two more stand while they are being committed. */
  keepLast: number
  /** Stage whose batches are being applied, and whose KL reference is loaded, where a restart is in its middle. */
  stage?: string
}

/**
 * Applies gradient batches with the engine of this process. One without a single trained token makes a version of the same
 * weights: its number was given out when the step closed, before anybody looked at the tokens.
 */
export function engineSink(options: EngineSinkOptions): UpdateSink {
  const { versioned, store, clock } = options
  const { engine } = versioned
  let stage = options.stage
  const written = [...options.checkpoints]
  return {
    get version() {
      return versioned.version
    },

    async apply(batch: GradientBatch, offset: number): Promise<Update> {
      if (batch.baseVersion !== versioned.version) {
        throw new CascadeError(
          'POLICY_VERSION',
          `gradient-batches: ${batch.id}: expected a batch for version ${versioned.version}, got one for ${batch.baseVersion}`,
        )
      }
      const { options: settings } = batch
      if (!settings) {
        throw new CascadeError('RECORD_INVALID', `gradient-batches: ${batch.id}: expected options, got none`)
      }
      const begun = clock.now()
      // The policy that a stage begins with is what its KL term refers to.
      if (batch.stage !== stage) await engine.setReference()
      stage = batch.stage
      if (batch.resetOptimizer) await engine.resetOptimizer()
      const micro = batch.microBatches.map(trainingBatch)
      if (settings.klCoef > 0) {
        for (const m of micro) {
          m.refLogprobs = (await engine.score(m, settings.temperature, 'reference')).logProbs
        }
      }
      const trained = micro.some((m) => m.lossMask.includes(1))
      const result = trained ? await engine.step(micro, settings) : untrained
      versioned.set(batch.version)
      return {
        id: batch.id,
        stage: batch.stage,
        domain: batch.domain,
        step: batch.step,
        version: batch.version,
        gradientBatchOffset: offset,
        // With weights that sum to 1 the surrogate of a supervised step is -1 whatever is learnt.
        loss: settings.objective === 'likelihood' ? result.nll : result.loss,
        nll: result.nll,
        gradNorm: result.gradNorm,
        entropy: result.entropy,
        kl: result.kl,
        clipFraction: result.clipFraction,
        ratioMean: result.ratioMean,
        ratioMax: result.ratioMax,
        lr: settings.lr,
        tokens: result.tokens,
        rows: micro.reduce((sum, m) => sum + m.rows, 0),
        staleness: batch.staleness ?? 0,
        ...(batch.staleness === undefined ? {} : { behaviourKl: behaviourKl(micro, result) }),
        durationMs: Math.max(0, clock.now() - begun),
        stats: batch.stats,
      }
    },

    async checkpoint(at): Promise<Checkpoint> {
      const { version } = versioned
      const files = [
        ...encodeCheckpoint(engine.config, await engine.exportState()),
        { name: 'tokenizer.json', bytes: Buffer.from(tokenizer.toJson()) },
        {
          name: 'manifest.json',
          bytes: Buffer.from(`${JSON.stringify({ format: 1, version, ...at }, null, 2)}\n`),
        },
      ]
      const stored = await store.write(version, options.writerEpoch, files)
      written.push({ ...at, id: stored.id })
      await store.prune(keptOf(written, options.keepLast + 2))
      const weights = stored.files.find((f) => f.name === 'model.safetensors')!
      return {
        id: stored.id,
        stage: at.stage,
        step: at.step,
        version,
        reason: at.reason,
        path: stored.path,
        writerEpoch: options.writerEpoch,
        contentHash: stored.contentHash,
        weightsHash: weights.sha256,
        gradientBatchOffset: at.gradientBatchOffset,
        files: stored.files,
      }
    },
  }
}

/**
 * Mean over the trained tokens of `r - 1 - log r`, `r` being the ratio to the policy that sampled: the k3 estimate of the KL from that
 * one (Schulman, Approximating KL Divergence, 2020), put together from sums that the step has anyway. Rounding alone takes it below 0.
 */
function behaviourKl(micro: readonly MicroBatch[], { ratioMean, nll, tokens }: StepResult): number {
  let old = 0
  for (const { lossMask, oldLogprobs } of micro) {
    for (let i = 0; i < lossMask.length; i++) if (lossMask[i] === 1) old += oldLogprobs?.[i] ?? 0
  }
  return tokens === 0 ? 0 : Math.max(0, ratioMean - 1 + nll + old / tokens)
}

/** What a step over no token measures. */
const untrained: StepResult = Object.freeze({
  loss: 0,
  nll: 0,
  gradNorm: 0,
  entropy: 0,
  kl: 0,
  clipFraction: 0,
  ratioMean: 1,
  ratioMax: 1,
  tokens: 0,
})

/** A checkpoint as far as it counts for which ones are kept. */
export type Kept = Pick<Checkpoint, 'id' | 'reason' | 'gradientBatchOffset'>

/** What a run began with, in the middle of a stage or not, every checkpoint of a stage's end, and the newest `count` of the others. */
export function keptOf(written: readonly Kept[], count: number): Set<string> {
  const passing = (c: Kept) => c.reason === 'interval' && c.gradientBatchOffset > 0
  const newest = written.filter(passing).slice(-count)
  return new Set([...written.filter((c) => !passing(c)), ...newest].map((c) => c.id))
}
