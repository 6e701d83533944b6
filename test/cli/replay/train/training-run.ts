import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { CascadeInput } from '../../../../src/cli/config.ts'
import {
  type BatchClosed,
  type Checkpoint,
  control,
  type Reward,
  type Update,
  updates,
} from '../../../../topics/index.ts'
import { invoke, jsonLines } from '../../invoke.ts'
import { cascade, writeConfig } from '../../run/harness.ts'
import { committed, valuesOf } from '../stripped.ts'

/** A deterministic run whose rollouts are to be trained on again. */
export async function sampledRun(dir: string, config: CascadeInput): Promise<string> {
  const run = join(dir, 'run')
  const file = await writeConfig(dir, config)
  const ended = await cascade(['run', file, '--dir', run, '--deterministic', '--seed', '3', '--json'])
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  return run
}

export const closedOf = async (run: string): Promise<BatchClosed[]> =>
  (await valuesOf(run, control)).filter((c) => c.type === 'batch-closed')

export const hasUpdate = (c: BatchClosed): boolean => c.version > c.baseVersion

/** A module that says of each rollout what the table says, and 0 of others. */
export async function verifierOf(dir: string, scores: Record<string, number>): Promise<string> {
  const body = `const scores = ${JSON.stringify(scores)}\nexport const version = '1'\nexport const judge = (text, truth, rollout) => scores[rollout.id] ?? 0\n`
  const file = join(dir, `table-${createHash('sha256').update(body).digest('hex').slice(0, 12)}.js`)
  await writeFile(file, body)
  return file
}

/** One in which every group has a signal. */
export const spreadOf = (judged: readonly Reward[]): Record<string, number> =>
  Object.fromEntries(judged.map((r) => [r.id, r.index / 4]))

export interface Asked {
  run: string
  verifier: string
  to: string
  domain?: string
  more?: readonly string[]
}

export function trainArguments({ run, verifier, to, domain = 'math', more = [] }: Asked): string[] {
  const topic = ['--topic', `rollouts.${domain}`]
  return [
    'replay',
    run,
    ...topic,
    '--mode',
    'rescored',
    '--verifier',
    verifier,
    '--dir',
    to,
    '--train',
    ...more,
  ]
}

export interface Trained {
  to: string
  steps: Record<string, unknown>[]
  result: { weights: string; version: number; path: string; offPolicy: number }
  saved: Checkpoint[]
  closed: BatchClosed[]
  updates: Update[]
}

export async function trained(asked: Asked): Promise<Trained> {
  const { to, more = [] } = asked
  const { code, out, err } = await invoke(trainArguments({ ...asked, more: ['--apply', '--json', ...more] }))
  // Nothing but progress, where it takes long.
  const said = err.replaceAll(/^(trained on|judged|copied|scored|step) .*\n/gm, '')
  expect({ code, said }).toEqual({ code: 0, said: '' })
  const lines = jsonLines(out)
  return {
    to,
    steps: lines.filter((l) => l.event === 'step'),
    result: lines.at(-1) as unknown as Trained['result'],
    saved: await committed(to),
    closed: await closedOf(to),
    updates: await valuesOf(to, updates),
  }
}
