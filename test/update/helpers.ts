import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseConfig } from '../../src/cli/config.ts'
import { engineOf } from '../../src/cli/run/engine.ts'
import type { Engine } from '../../src/model/engine/index.ts'
import { versionedEngine } from '../../src/policy/versioned-engine.ts'
import { CheckpointStore } from '../../src/update/checkpoint-store.ts'
import { engineSink } from '../../src/update/engine-sink.ts'
import type { GradientBatch } from '../../topics/index.ts'
import { quickRun } from '../cli/run/quick-run.ts'

export const clock = { now: () => 1_000 }
export const never = new AbortController().signal

export async function folder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'cascade-update-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

export function smallEngine(): Promise<Engine> {
  return engineOf(parseConfig(quickRun(), 'quick run'), true)
}

/** One rectangle of two rows, the second one token shorter, as `pack` writes it. */
export function batch(version: number, change: Partial<GradientBatch> = {}): GradientBatch {
  const [rows, cols] = [2, 6]
  return {
    id: `sft:${version}`,
    kind: 'batch',
    stage: 'sft',
    domain: 'math',
    step: version,
    baseVersion: version - 1,
    version,
    members: ['a', 'b'],
    microBatches: [
      {
        rows,
        cols,
        tokens: Int32Array.from({ length: rows * cols }, (_, i) => 3 + ((i * 7 + version) % 20)),
        lengths: Int32Array.of(6, 5),
        lossMask: Uint8Array.of(0, 0, 1, 1, 1, 1, 0, 0, 1, 1, 1, 0),
        rowWeights: Float32Array.of(0.25, -0.125),
      },
    ],
    options: {
      lr: 1e-2,
      betas: [0.9, 0.95],
      eps: 1e-8,
      weightDecay: 0.1,
      maxGradNorm: 1,
      temperature: 1,
      klCoef: 0,
    },
    resetOptimizer: false,
    checkpoint: false,
    stats: { reward: 0.5 },
    ...change,
  }
}

export function sinkOn(engine: Engine, run: string, change: { stage?: string; version?: number } = {}) {
  const versioned = versionedEngine(engine, change.version ?? 0)
  const store = new CheckpointStore(run)
  const { stage } = change
  const rest = { writerEpoch: 1, clock, checkpoints: [], keepLast: 1, ...(stage ? { stage } : {}) }
  return { versioned, store, sink: engineSink({ versioned, store, ...rest }) }
}

/** Every weight and moment, as bits. */
export async function bitsOf(engine: Engine): Promise<Record<string, string>> {
  const { weights, m, v, step } = await engine.exportState()
  const bits: Record<string, string> = { step: String(step) }
  for (const [kind, tensors] of Object.entries({ weights, m, v })) {
    for (const [name, values] of tensors) {
      bits[`${kind}.${name}`] = Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString(
        'base64',
      )
    }
  }
  return bits
}
