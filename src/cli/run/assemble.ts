import { asyncScheduler } from 'rxjs'
import type { CascadeOptions } from '../../../streams/cascade.ts'
import { settledTogether } from '../../../streams/coordinator-state.ts'
import type { Probe, TopicLog } from '../../../streams/ports.ts'
import type { Engine } from '../../model/engine/index.ts'
import { localEvaluator } from '../../policy/evaluator.ts'
import { localPolicy } from '../../policy/local.ts'
import { versionedEngine } from '../../policy/versioned-engine.ts'
import { CheckpointStore } from '../../update/checkpoint-store.ts'
import { restoreSink } from '../../update/restore.ts'
import type { RunVerifiers } from '../../verifiers/swap/run-verifiers.ts'
import type { CascadeConfig } from '../config.ts'
import type { Manifest } from '../run-folder.ts'
import { sourceOf } from './prompt-source.ts'

export interface AssembleOptions {
  log: TopicLog
  /** Of this opening of the log: fences older writers. */
  epoch: number
  dir: string
  manifest: Manifest
  engine: Engine
  verifiers: RunVerifiers
  probe?: Probe
  signal: AbortSignal
  onReapply?: (batches: number) => void
  /** What a person should know, though it stops nothing. */
  note?: (text: string) => void
}

export const clock = { now: () => Date.now() }

/** Between the tries of a rollout whose verdict is an error. */
export const backoff = { baseMs: 200, maxMs: 5_000, random: Math.random }

/** Every part of a run in this process, as its config asks for them, with the weights as the log left them. */
export async function assemble(options: AssembleOptions): Promise<CascadeOptions> {
  const { log, epoch, dir, manifest, engine, verifiers, probe, signal, onReapply, note } = options
  const { config, seed, runId, deterministic, configHash } = manifest
  const source = await sourceOf(config, seed, note === undefined ? {} : { note })
  const versioned = versionedEngine(engine)
  const store = new CheckpointStore(dir, probe)
  const { keepLast } = config.checkpoints
  const { init } = config.model
  const sink = await restoreSink({
    log,
    versioned,
    store,
    writerEpoch: epoch,
    clock,
    seed,
    keepLast,
    signal,
    ...(init === undefined ? {} : { init }),
    ...(onReapply === undefined ? {} : { onReapply }),
  })
  return {
    runId,
    seed,
    deterministic,
    configHash,
    stages: config.stages,
    epoch,
    source,
    policy: localPolicy(versioned, store),
    verifiers,
    sink,
    evaluator: localEvaluator({
      versioned,
      source,
      ...config.evaluation,
      verifiers: verifiers.initial,
      clock,
      signal,
    }),
    credit: config.credit,
    plan: planOf(config),
    decodeRows: config.engine.decodeRows,
    verify: { ...config.verify, backoff },
    scheduler: asyncScheduler,
    clock,
    ...(probe === undefined ? {} : { probe }),
    signal,
  }
}

/** Room for all rewards of the largest step, which are settled together. */
export function windowOf(config: CascadeConfig): number {
  return Math.max(4096, ...config.stages.map((s) => (s.kind === 'rl' ? settledTogether(s) : 0)))
}

/** Shapes of micro-batches: part of the numeric profile. */
export function planOf(config: CascadeConfig) {
  return { maxTokens: config.engine.microBatchTokens, align: 8 }
}
