import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from 'hyparquet'
import { expect, test } from 'vitest'
import { type Reward, type Rollout, rewards, rollouts } from '../../../topics/index.ts'
import { invoke, jsonLines } from '../invoke.ts'
import { judgedRun } from '../replay/judged-run.ts'
import { valuesOf } from '../replay/stripped.ts'
import { start } from '../run/harness.ts'
import { scratch, writeRun } from '../run-on-disk.ts'

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
      { text: '=1\u2028', score: 0.25 },
      { text: '=1', score: 1 },
      { text: '=😀', score: 1 },
    ],
  ],
  [[{ text: '=2', score: 0.5 }, { text: '=3' }, { text: '=2', open: true }, { text: '=2', score: 0.5 }]],
] as const

async function written(): Promise<string> {
  const cwd = await scratch()
  await writeRun(join(cwd, 'run'), judgedRun(steps))
  return cwd
}

const write = (cwd: string, format: string, out: string, ...more: string[]) =>
  invoke(['export', 'run', '--format', format, '--topic', 'rollouts.math', '--out', out, ...more], { cwd })

async function lines(cwd: string, format: string, ...more: string[]) {
  const { code, out } = await write(cwd, format, '-', ...more)
  expect(code).toBe(0)
  return jsonLines(out)
}

test('plain rows hold every rollout, also those without a score', async () => {
  const cwd = await written()
  const { code, out, err } = await write(cwd, 'plain', 'rows.jsonl')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toBe('12 rollouts of 3 groups written, 0 filtered out\nfile: rows.jsonl\n')
  const rows = jsonLines(await readFile(join(cwd, 'rows.jsonl'), 'utf8'))
  expect(rows.map((r) => [r.id, r.reward, r.outcome])).toEqual([
    ['g0:0', 1, 'score'],
    ['g0:1', 0, 'score'],
    ['g0:2', 0, 'unparsable'],
    ['g0:3', null, 'error'],
    ['g1:0', 1, 'score'],
    ['g1:1', 0.25, 'score'],
    ['g1:2', 1, 'score'],
    ['g1:3', 1, 'score'],
    ['g2:0', 0.5, 'score'],
    ['g2:1', 0, 'score'],
    ['g2:2', null, null],
    ['g2:3', 0.5, 'score'],
  ])
  expect(rows[3]).toMatchObject({ reason: 'VERIFIER_TIMEOUT', prompt: '0+0=', groundTruth: '0' })
  expect(await readdir(cwd)).toEqual(['rows.jsonl', 'run'])
})

test('where each row has a score an error is left out and counted: it is no zero', async () => {
  const cwd = await written()
  const { out, err } = await write(cwd, 'verl', '-', '--json')
  expect(JSON.parse(err)).toMatchObject({ rollouts: 10, groups: 3, filtered: 0, unscored: 2, out: '-' })
  expect(jsonLines(out).map((r) => r.output)).toEqual([
    '=0',
    '=5',
    'no',
    '=1',
    '=1\u2028',
    '=1',
    '=😀',
    '=2',
    '=3',
    '=2',
  ])
  expect((await write(cwd, 'verl', 'v.jsonl')).out).toContain(
    'without a score, which verl rows need: 2 rollouts left out',
  )
})

test('the filters and ranges of replay', async () => {
  const cwd = await written()
  const ids = async (...more: string[]) => (await lines(cwd, 'plain', ...more)).map((r) => r.id)
  expect(await ids('--verdict', 'unparsable')).toEqual(['g0:2'])
  expect(await ids('--reward', '0.5..0.5')).toEqual(['g2:0', 'g2:3'])
  expect(await ids('--prompt', 'p1', '--reward', '1..')).toEqual(['g1:0', 'g1:2', 'g1:3'])
  expect(await ids('--verifier', 'other')).toEqual([])
  expect(await ids('--from', 'step:math/2')).toEqual(['g2:0', 'g2:1', 'g2:2', 'g2:3'])
  expect(await ids('--from', '3', '--to', '5')).toEqual(['g0:3', 'g1:0'])
})

test.each(['plain', 'nemo-rl', 'pipelinerl', 'verl', 'areal'])(
  '%s: a run that is exported and imported has the same groups, texts and scores',
  async (format) => {
    const cwd = await written()
    const out = format === 'nemo-rl' ? 'train_data_step1.jsonl.gz' : 'rows.jsonl'
    await write(cwd, format, out)
    if (out.endsWith('.gz')) gunzipSync(await readFile(join(cwd, out)))
    const take = ['import', '--format', format, '--in', out, '--dir', 'back', '--domain', 'math']
    expect(await invoke(take, { cwd })).toMatchObject({ code: 0, err: '' })
    const shape = async (run: string) => {
      const made = await valuesOf<Rollout>(join(cwd, run), rollouts('math'))
      const judged = new Map(
        (await valuesOf<Reward>(join(cwd, run), rewards('math'))).map((r) => [r.id, r.score]),
      )
      const scored = made.filter((r) => format === 'plain' || judged.get(r.id) !== undefined)
      const groups = [...new Set(scored.map((r) => r.groupId))]
      const tokens = ['plain', 'nemo-rl', 'pipelinerl'].includes(format)
      const truths = ['plain', 'verl'].includes(format)
      return scored.map((r) => [
        groups.indexOf(r.groupId),
        r.promptText,
        r.responseText,
        judged.get(r.id),
        truths ? r.groundTruth : 0,
        ...(tokens ? [r.promptTokens, r.responseTokens, r.responseLogprobs, r.lossMask] : []),
      ])
    }
    expect(await shape('back')).toEqual(await shape('run'))
  },
)

test('Parquet is read back row by row', async () => {
  const cwd = await written()
  const { code, out } = await write(cwd, 'parquet', 'rows.parquet', '--json')
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({ rollouts: 12, groups: 3, unscored: 0 })
  const file = await asyncBufferFromFile(join(cwd, 'rows.parquet'))
  const rows = await parquetReadObjects({ file })
  const made = await valuesOf<Rollout>(join(cwd, 'run'), rollouts('math'))
  expect(rows.map((r) => [r.id, r.response, r.response_tokens, r.response_logprobs])).toEqual(
    made.map((r) => [r.id, r.responseText, Array.from(r.responseTokens), Array.from(r.responseLogprobs)]),
  )
  expect(rows.map((r) => r.reward)).toEqual([1, 0, 0, null, 1, 0.25, 1, 1, 0.5, 0, null, 0.5])
  expect((await parquetMetadataAsync(file)).created_by).toMatch(/^cascade \d/)
  expect(await readdir(cwd)).toEqual(['rows.parquet', 'run'])
})

test('a file that is there is replaced as a whole', async () => {
  const cwd = await written()
  await writeFile(join(cwd, 'rows.jsonl'), 'before')
  await write(cwd, 'plain', 'rows.jsonl', '--prompt', 'p1')
  expect(jsonLines(await readFile(join(cwd, 'rows.jsonl'), 'utf8'))).toHaveLength(4)
})

test.each<[string, string[], RegExp]>([
  ['parquet on the standard output', ['parquet', '-'], /--out: expected a file for parquet/],
  [
    'a folder that is not there',
    ['plain', 'no/rows.jsonl'],
    /--out: expected a file that can be written, got .*rows\.jsonl: ENOENT/,
  ],
  [
    'the same for parquet',
    ['parquet', 'no/rows.parquet'],
    /--out: expected a file that can be written, got .*rows\.parquet: ENOENT/,
  ],
  ['a folder as the file', ['plain', 'run'], /--out: expected a file that can be written, got .*: E/],
  ['a format that is none', ['csv', 'x'], /plain, nemo-rl, pipelinerl, verl, areal, parquet/],
  ['a range that is none', ['plain', 'x', '--reward', '3'], /--reward: expected MIN\.\.MAX/],
])('%s is wrong usage, and leaves nothing behind', async (_, [format, out, ...more], message) => {
  const cwd = await written()
  const { code, err } = await write(cwd, format!, out!, ...more)
  expect(code).toBe(2)
  expect(err).toMatch(message)
  expect(await readdir(cwd)).toEqual(['run'])
})

test('the topic may be left out where there is one domain', async () => {
  const cwd = await written()
  const without = await invoke(['export', 'run', '--format', 'plain', '--out', '-'], { cwd })
  expect(without.code).toBe(2)
  expect(without.err).toContain('--topic: expected one of rollouts.instruction, rollouts.math, got none')
  await writeFile(join(cwd, 'a.jsonl'), '{"prompt":"q","response":"a"}\n')
  await invoke(['import', '--format', 'plain', '--in', 'a.jsonl', '--dir', 'one'], { cwd })
  const { out } = await invoke(['export', 'one', '--format', 'plain', '--out', '-'], { cwd })
  expect(jsonLines(out)[0]).toMatchObject({ prompt: 'q', response: 'a', reward: null, outcome: null })
})

test.each(['plain', 'parquet'])('%s: Ctrl-C leaves nothing behind', async (format) => {
  const cwd = await scratch()
  const text = 'x'.repeat(3000)
  const many = Array.from({ length: 400 }, () => [{ text }, { text }, { text }, { text }])
  await writeRun(join(cwd, 'run'), [judgedRun([many]).flat()])
  const out = join(cwd, 'rows')
  const running = start([
    'export',
    join(cwd, 'run'),
    '--format',
    format,
    '--topic',
    'rollouts.math',
    '--out',
    out,
  ])
  while (!(await readdir(cwd)).some((name) => name.endsWith('.partial'))) {
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  running.kill('SIGINT')
  expect(await running.ended).toMatchObject({ code: 130 })
  expect(await readdir(cwd)).toEqual(['run'])
})

test('an interruption before the first row leaves nothing behind', async () => {
  const cwd = await written()
  const stop = new AbortController()
  stop.abort(Object.assign(new Error('interrupted'), { name: 'CascadeError', code: 'INTERRUPTED' }))
  const ended = await invoke(
    ['export', 'run', '--format', 'plain', '--topic', 'rollouts.math', '--out', 'x.jsonl'],
    {
      cwd,
      signal: stop.signal,
    },
  )
  expect(ended.code).toBe(130)
  expect(await readdir(cwd)).toEqual(['run'])
})
