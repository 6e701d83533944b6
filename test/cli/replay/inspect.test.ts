import { join } from 'node:path'
import { expect, test } from 'vitest'
import { invoke, jsonLines } from '../invoke.ts'
import { scratch, writeRun } from '../run-on-disk.ts'
import { judgedRun } from './judged-run.ts'

const steps = [
  [
    [
      { text: '=0', score: 1 },
      { text: '=5' },
      { text: 'no', unparsable: true },
      { text: 'x', error: 'VERIFIER_TIMEOUT' },
    ],
    [
      { text: '=1', score: 1 },
      { text: '=1', score: 1 },
      { text: '=1', score: 1 },
      { text: '=1', score: 1 },
    ],
  ],
  [
    [
      { text: '=2', score: 0.5, version: '1' },
      { text: '=33333', version: '1' },
      { text: '=2', open: true },
      { text: '=2', score: 0.5, version: '1' },
    ],
  ],
] as const

async function written(): Promise<string> {
  const dir = join(await scratch(), 'run')
  await writeRun(dir, judgedRun(steps))
  return dir
}

const inspect = (dir: string, ...more: string[]) =>
  invoke(['replay', dir, '--topic', 'rollouts.math', ...more])

async function lines(dir: string, ...more: string[]) {
  const { code, out, err } = await inspect(dir, '--json', ...more)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const all = jsonLines(out)
  return { ids: all.slice(0, -1).map((l) => l.id), summary: all.at(-1)!, all }
}

test('a range is summed up: verdicts, outcomes, rewards, lengths, verifiers', async () => {
  const { ids, summary, all } = await lines(await written())
  expect(ids).toHaveLength(12)
  expect(all[2]).toMatchObject({
    id: 'g0:2',
    verdict: 'unparsable',
    reward: 0,
    response: 'no',
    groundTruth: '0',
  })
  expect(all[3]).toMatchObject({ id: 'g0:3', verdict: 'error', reward: null, reason: 'VERIFIER_TIMEOUT' })
  expect(summary).toMatchObject({
    event: 'summary',
    from: 0,
    to: 12,
    rollouts: 12,
    groups: 3,
    prompts: 3,
    steps: { math: { first: 1, last: 2 } },
    verdicts: { score: 9, unparsable: 1, error: 1, none: 1 },
    outcomes: { kept: 1, filtered: 1, lost: 0, open: 1 },
    errors: { VERIFIER_TIMEOUT: 1 },
    reward: { n: 10, mean: 0.6, min: 0, p50: 0.5, p95: 1, max: 1 },
    distribution: [
      { from: 0, to: 0, n: 3 },
      { from: 0.5, to: 0.5, n: 2 },
      { from: 1, to: 1, n: 5 },
    ],
    tokens: { n: 12, min: 1, max: 6 },
    verifiers: [
      { verifier: 'sum', version: '0', n: 8, reward: { n: 7, mean: 5 / 7 } },
      { verifier: 'sum', version: '1', n: 3, reward: { n: 3, mean: 1 / 3 } },
    ],
  })
})

test('filters, together', async () => {
  const dir = await written()
  const ids = async (...more: string[]) => (await lines(dir, ...more)).ids
  expect(await ids('--verdict', 'error')).toEqual(['g0:3'])
  expect(await ids('--verdict', 'unparsable')).toEqual(['g0:2'])
  expect(await ids('--verifier', 'sum@1')).toEqual(['g2:0', 'g2:1', 'g2:3'])
  expect(await ids('--verifier', 'sum')).toHaveLength(11)
  expect(await ids('--verifier', 'other')).toEqual([])
  expect(await ids('--reward', '0.5..0.5')).toEqual(['g2:0', 'g2:3'])
  expect(await ids('--reward', '..0', '--prompt', 'p0')).toEqual(['g0:1', 'g0:2'])
})

test('places', async () => {
  const dir = await written()
  const ids = async (...more: string[]) => (await lines(dir, ...more)).ids
  expect(await ids('--from', 'step:math/2')).toEqual(['g2:0', 'g2:1', 'g2:2', 'g2:3'])
  expect(await ids('--from', 'stage:math', '--to', 'step:math/1')).toHaveLength(8)
  expect(await ids('--from', '3', '--to', '5')).toEqual(['g0:3', 'g1:0'])
  expect(await ids('--from', '2020-01-01', '--to', '2100-01-01T00:00:00Z')).toHaveLength(12)
})

test('a person gets a table', async () => {
  const { code, out } = await inspect(await written())
  expect(code).toBe(0)
  expect(out).toContain('rollouts.math, offsets 0 to 12')
  expect(out).toMatch(/groups +3: 1 kept, 1 filtered, 0 lost, 1 open/)
  expect(out).toMatch(/errors +1 \(8\.3 %\): VERIFIER_TIMEOUT 1/)
  expect(out).toMatch(/sum@1 +3 +0\.333/)
})

test.each([
  [
    ['--from', 'step:math/13'],
    /--from: expected an offset, an ISO time, .*step:math\/1 to 12, got step:math\/13/,
  ],
  [['--from', 'stage:sft'], /--from: expected .*stage:math.*, got stage:sft/],
  [['--from', 'yesterday'], /--from: expected .*, got yesterday/],
  [
    ['--from', '12'],
    /expected a range with rollouts in it, got offsets 12 to 12; those from 0 to 12 are there/,
  ],
  [['--reward', '3'], /--reward: expected MIN\.\.MAX/],
  [['--verdict', 'zero'], /score, unparsable, error/],
  [['--apply'], /--apply: expected with --mode recorded or rescored, got --mode inspect/],
])('%j is wrong usage', async (more, message) => {
  const { code, err, out } = await inspect(await written(), ...more)
  expect({ code, out }).toEqual({ code: 2, out: '' })
  expect(err).toMatch(message)
})

test('a topic that holds no rollouts of the run is wrong usage', async () => {
  const { code, err } = await invoke(['replay', await written(), '--topic', 'rewards.math'])
  expect(code).toBe(2)
  expect(err).toContain('--topic: expected one of rollouts.instruction, rollouts.math, got rewards.math')
})
