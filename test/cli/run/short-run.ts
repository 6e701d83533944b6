import { join } from 'node:path'
import type { CascadeInput } from '../../../src/cli/config.ts'
import { findCheckpoint } from '../../../src/cli/run/find-checkpoint.ts'
import { openLog } from '../../../src/log/index.ts'
import { cascade, writeConfig } from './harness.ts'

const model = { layers: 2, hidden: 64, heads: 4, kvHeads: 2, maxLength: 96 } as const

/** Trains weights with some skill in seconds; the folder of their checkpoint. */
export async function warmUp(dir: string): Promise<string> {
  const config: CascadeInput = {
    model,
    evaluation: { prompts: 2 },
    stages: [
      {
        kind: 'sft',
        name: 'warm',
        domain: 'mixed',
        tasks: ['instruction', 'math'],
        steps: 250,
        batch: 32,
        lr: 4e-3,
        checkpointEvery: 1000,
      },
    ],
  }
  const ended = await cascade(['run', await writeConfig(dir, config), '--dir', join(dir, 'warm'), '--json'])
  if (ended.code !== 0) throw new Error(`warm-up: ${ended.stderr}`)
  const run = join(dir, 'warm')
  await using log = await openLog({ dir: join(run, 'log'), mode: 'read', clock: { now: () => Date.now() } })
  const { path } = await findCheckpoint(log, 'warm', new AbortController().signal)
  return join(run, path)
}

/** A run of seconds that comes through every kind of stage, from warm weights, so that some groups have a signal. */
export function shortRun(init: string): CascadeInput {
  const rl = { kind: 'rl', steps: 3, prompts: 8, groupSize: 4, lr: 3e-4, checkpointEvery: 2 } as const
  return {
    model: { ...model, init },
    evaluation: { prompts: 8 },
    stages: [
      {
        kind: 'sft',
        name: 'sft',
        domain: 'mixed',
        tasks: ['instruction', 'math'],
        steps: 5,
        batch: 8,
        lr: 1e-4,
        checkpointEvery: 2,
      },
      {
        ...rl,
        name: 'instruct',
        domain: 'instruction',
        task: 'instruction',
        maxTokens: 24,
        refill: 2,
        topP: 0.95,
      },
      {
        ...rl,
        name: 'math',
        domain: 'math',
        task: 'math',
        maxTokens: 40,
        klCoef: 0.01,
        clipLow: 0.2,
        clipHigh: 0.3,
      },
    ],
  }
}
