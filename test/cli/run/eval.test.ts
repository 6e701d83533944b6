import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Report } from '../../../src/cli/report/index.ts'
import type { Evaluation } from '../../../topics/index.ts'
import { cascade, recordsOf, workspace, writeConfig } from './harness.ts'

interface Scored {
  checkpoint: string
  scores: Record<string, { score: number; n: number; passed: number; responseLength: number }>
}

let space: Awaited<ReturnType<typeof workspace>>
let run: string
let report: Report
const prompts = 128

beforeAll(async () => {
  space = await workspace()
  run = join(space.dir, 'run')
  const rl = { kind: 'rl', steps: 2, prompts: 12, groupSize: 4, lr: 1e-3 } as const
  const config = await writeConfig(space.dir, {
    model: { layers: 2, hidden: 64, heads: 4, kvHeads: 2, maxLength: 64 },
    evaluation: { prompts },
    stages: [
      {
        kind: 'sft',
        name: 'sft',
        domain: 'instruction',
        tasks: ['instruction'],
        steps: 300,
        batch: 32,
        lr: 3e-3,
        checkpointEvery: 1000,
      },
      { ...rl, name: 'second', domain: 'instruction', task: 'instruction', maxTokens: 18 },
      { ...rl, name: 'third', domain: 'math', task: 'math', maxTokens: 32 },
    ],
  })
  expect(await cascade(['run', config, '--dir', run])).toMatchObject({ code: 0, stderr: '' })
  report = await json<Report>(['report', run, '--json'])
})

afterAll(() => space[Symbol.asyncDispose]())

async function json<T>(args: readonly string[]): Promise<T> {
  const ended = await cascade(args)
  expect(ended).toMatchObject({ code: 0, stderr: '' })
  return JSON.parse(ended.stdout) as T
}

const evaluated = (...args: string[]) => json<Scored>(['eval', run, '--json', ...args])

test('every score of the report comes from the weights again', async () => {
  const stages = ['start', 'sft', 'second', 'third']
  expect(Object.keys(report.matrix)).toEqual(stages)
  const again: Record<string, Record<string, number>> = {}
  for (const stage of stages) {
    const { scores } = await evaluated('--checkpoint', stage)
    again[stage] = Object.fromEntries(Object.entries(scores).map(([domain, { score }]) => [domain, score]))
  }
  expect(again).toEqual(report.matrix)
  // Weights that pass nothing, or always the same, would agree whatever was loaded.
  expect(report.matrix.sft!.instruction).toBeGreaterThan(0)
  expect(new Set(Object.values(report.matrix).map((row) => JSON.stringify(row))).size).toBeGreaterThan(1)
})

test('lengths of answers are those that were recorded, and ids and `latest` name the same weights', async () => {
  const recorded = (await recordsOf(run)).evaluations!.map((text) => JSON.parse(text) as Evaluation)
  const { checkpoint, scores } = await evaluated('--checkpoint', 'latest')
  for (const [domain, { passed, n, responseLength }] of Object.entries(scores)) {
    const last = recorded.find((e) => e.stage === 'third' && e.domain === domain)
    expect({ checkpoint, passed, n, responseLength }).toEqual({
      checkpoint: last?.checkpoint,
      passed: last?.passed,
      n: prompts,
      responseLength: last?.responseLength,
    })
  }
  const byId = await evaluated('--checkpoint', checkpoint, '--domain', 'math', '--prompts', '20')
  expect(byId).toMatchObject({ checkpoint, scores: { math: { n: 20 } } })
  expect(Object.keys(byId.scores)).toEqual(['math'])
})

test('another seed holds out other prompts', async () => {
  const [own, other] = await Promise.all([evaluated('--seed', '0'), evaluated('--seed', '1')])
  expect(own.scores).not.toEqual(other.scores)
  expect(own.scores.instruction!.score).toBe(report.matrix.third!.instruction)
})

test.each([
  ['--domain', 'cooking', 2, /^error USAGE: --domain: expected one of instruction, math, got cooking\n$/],
  ['--prompts', 'many', 2, /^error USAGE: .*--prompts.*many.*\n$/],
  ['--checkpoint', 'sixth', 1, /^error CHECKPOINT_NOT_FOUND: --checkpoint: expected latest, .*got sixth\n$/],
])('%s %s is refused', async (option, value, code, message) => {
  const ended = await cascade(['eval', run, option, value])
  expect(ended.code).toBe(code)
  expect(ended.stderr).toMatch(message)
})
