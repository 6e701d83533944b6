import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { meanInterval } from '../../../src/cli/replay/paired.ts'
import { prompts, type Reward, rewards, rollouts } from '../../../topics/index.ts'
import { invoke, jsonLines } from '../invoke.ts'
import { recordsOf } from '../run/harness.ts'
import { scratch, writeRun } from '../run-on-disk.ts'
import { judgedRun } from './judged-run.ts'
import { valuesOf } from './stripped.ts'

/** What a verifier with a bug wrote: it took any answer of the first group for right, and threw at another. */
const steps = [
  [
    [
      { text: '=0', score: 1 },
      { text: '=5', score: 1 },
      { text: '=7', score: 1 },
      { text: 'no', unparsable: true },
    ],
    [
      { text: '=1', score: 1 },
      { text: '=2' },
      { text: '=1', error: 'VERIFIER_FAILED' },
      { text: '=1', score: 1 },
    ],
  ],
  [[{ text: '=2' }, { text: '=9' }, { text: '=2' }, { text: '=2', open: true }]],
] as const

async function written(): Promise<string> {
  const dir = join(await scratch(), 'run')
  await writeRun(dir, judgedRun(steps))
  return dir
}

const rescored = (dir: string, verifier: string, ...more: string[]) =>
  invoke(['replay', dir, '--topic', 'rollouts.math', '--mode', 'rescored', '--verifier', verifier, ...more], {
    cwd: dirname(dir),
  })

/** A module next to the run. */
async function module(dir: string, body: string): Promise<string> {
  const name = `verifier-${createHash('sha256').update(body).digest('hex').slice(0, 8)}.ts`
  await writeFile(join(dirname(dir), name), body)
  return `./${name}`
}

const own = (judging: string) =>
  `export const version = '3'\nexport async function judge(text: string, truth: unknown, rollout: { index: number }) { ${judging} }\n`

test('the report pairs each verdict with the one before', async () => {
  const dir = await written()
  const to = join(dirname(dir), 'again')
  const before = await recordsOf(dir)
  const { code, out, err } = await rescored(dir, 'sum', '--apply', '--dir', to, '--json')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  const [report] = jsonLines(out)
  expect(report).toMatchObject({
    event: 'report',
    verifier: { name: 'sum', version: '1' },
    rollouts: 12,
    before: { score: 9, unparsable: 1, error: 1, none: 1 },
    after: { score: 11, unparsable: 1, error: 0, none: 0 },
    moves: { error: { score: 1 }, none: { score: 1 }, unparsable: { unparsable: 1 }, score: { score: 9 } },
    // Two of the first group down, two of the last up; the error and the open one have no pair.
    paired: { n: 10, up: 2, down: 2, same: 6, meanBefore: 0.5, meanAfter: 0.5, difference: 0 },
    // The last one was not whole before.
    groups: { compared: 2, changed: 2, outcomes: { 'kept to kept': 2 } },
    errors: {},
    latency: { n: 12 },
  })
  const groups = [
    { n: 4, sum: -2 },
    { n: 3, sum: 0 },
    { n: 3, sum: 2 },
  ]
  expect((report as { paired: { interval: unknown } }).paired.interval).toEqual(meanInterval(groups))
  expect(await recordsOf(dir)).toEqual(before)
  expect(JSON.parse(await readFile(join(to, 'replay.json'), 'utf8'))).toMatchObject({
    run: 'sample',
    rollouts: 12,
  })
})

test('the new run stands alone: prompts, rollouts and rewards that refer to them', async () => {
  const dir = await written()
  const to = join(dirname(dir), 'again')
  expect(await rescored(dir, 'sum', '--apply', '--dir', to, '--from', '4')).toMatchObject({
    code: 0,
    err: '',
  })
  const copied = await valuesOf<{ id: string; groupId: string }>(to, rollouts('math'))
  expect(copied).toEqual((await valuesOf<{ id: string }>(dir, rollouts('math'))).slice(4))
  const asked = await valuesOf<{ groupId: string }>(to, prompts('math'))
  expect(asked.map((p) => p.groupId)).toEqual(['g1', 'g2'])
  const judged = await valuesOf<Reward>(to, rewards('math'))
  expect(judged.map((r) => r.step)).toEqual(judged.map((r) => r.step).sort((a, b) => a - b))
  expect(judged.map((r) => r.id).sort()).toEqual(copied.map((r) => r.id).sort())
  for (const r of judged) expect(copied[r.rolloutOffset]?.id).toBe(r.id)
  const manifest = JSON.parse(await readFile(join(to, 'run.json'), 'utf8')) as Record<string, unknown>
  expect(manifest).toMatchObject({ runId: 'again', rescored: { run: 'sample', from: 4, to: 12 } })
  const seen = await invoke(['replay', to, '--topic', 'rollouts.math', '--json'])
  expect(jsonLines(seen.out).at(-1)).toMatchObject({ rollouts: 8, verdicts: { score: 8, error: 0, none: 0 } })
})

describe('of a part of a range', () => {
  test.each([
    [['--verdict', 'unparsable'], ['g0:3'], 1],
    [['--verdict', 'error'], ['g1:2'], 0],
    [['--reward', '1..1'], ['g0:0', 'g0:1', 'g0:2', 'g1:0', 'g1:3'], 5],
    [['--prompt', 'p1'], ['g1:0', 'g1:1', 'g1:2', 'g1:3'], 3],
    [['--judged-by', 'sum@0', '--prompt', 'p2'], ['g2:0', 'g2:1', 'g2:2'], 3],
  ] as const)('%j judges what matches, and that alone', async (filter, expected, paired) => {
    const dir = await written()
    const to = join(dirname(dir), 'part')
    const { code, out, err } = await rescored(dir, 'sum', '--apply', '--dir', to, '--json', ...filter)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(jsonLines(out)[0]).toMatchObject({ rollouts: expected.length, paired: { n: paired } })
    const judged = await valuesOf<Reward>(to, rewards('math'))
    expect(judged.map((r) => r.id).sort()).toEqual(expected)
    const copied = await valuesOf<{ id: string }>(to, rollouts('math'))
    expect(copied.map((r) => r.id)).toEqual(expected)
    const asked = await valuesOf<{ groupId: string }>(to, prompts('math'))
    expect(asked.map((p) => p.groupId)).toEqual([...new Set(expected.map((id) => id.split(':')[0]))])
    const manifest = JSON.parse(await readFile(join(to, 'run.json'), 'utf8')) as {
      rescored: { filter: object }
    }
    expect(Object.keys(manifest.rescored.filter).length).toBe(filter.filter((w) => w.startsWith('--')).length)
  })

  test('that holds no rollout is refused; a dry run says how many there are', async () => {
    const dir = await written()
    const none = await rescored(dir, 'sum', '--apply', '--dir', 'part', '--judged-by', 'sum@7')
    expect(none.code).toBe(2)
    expect(none.err).toContain('expected rollouts that pass the filters among offsets 0 to 12, got none')
    const { out } = await rescored(dir, 'sum', '--dir', 'part', '--verdict', 'score')
    expect(out).toContain('9 rollouts, 3 groups, 2 steps')
    expect(await readdir(dirname(dir))).toEqual(['run'])
  })
})

test('the new run is no run to train on', async () => {
  const dir = await written()
  const to = join(dirname(dir), 'again')
  expect(await rescored(dir, 'sum', '--apply', '--dir', to)).toMatchObject({ code: 0 })
  const { code, err } = await invoke(['run', '--resume', '--dir', to])
  expect(code).toBe(2)
  expect(err).toContain('expected a run that was trained, got the rollouts of sample judged again')
  expect(await invoke(['report', to, '--json'])).toMatchObject({ code: 0, err: '' })
})

test('a verifier from a file; its errors are errors, not zeros', async () => {
  const dir = await written()
  const to = join(dirname(dir), 'own')
  const file = await module(
    dir,
    own(
      "if (rollout.index === 0) throw new Error('boom'); return rollout.index === 1 ? { outcome: 'fine' } : { outcome: 'score', score: 1 }",
    ),
  )
  const { code, out } = await rescored(dir, file, '--apply', '--dir', to, '--json')
  expect(code).toBe(0)
  expect(jsonLines(out)[0]).toMatchObject({
    after: { score: 6, error: 6 },
    errors: { VERIFIER_FAILED: 6 },
    paired: { n: 4, meanAfter: 1 },
  })
  const judged = await valuesOf<Reward>(to, rewards('math'))
  for (const r of judged) {
    expect(r.rewards[0]).toMatchObject({ version: '3', codeHash: expect.stringMatching(/^[0-9a-f]{64}$/) })
    expect(r.rewards[0]!.verifier).toMatch(/^verifier-/)
    expect(r.score).toBe(r.index < 2 ? undefined : 1)
  }
})

test('where every verdict is an error the exit code is 1', async () => {
  const dir = await written()
  const file = await module(dir, own("throw new Error('always')"))
  const { code, out } = await rescored(dir, file, '--apply', '--dir', 'all')
  expect(code).toBe(1)
  expect(out).toMatch(/errors +VERIFIER_FAILED 12/)
})

test('a person gets tables', async () => {
  const dir = await written()
  const { code, out } = await rescored(dir, 'sum', '--apply', '--dir', 'again')
  expect(code).toBe(0)
  expect(out).toMatch(/before \\ after +scored +unparsable +error +not judged +all/)
  expect(out).toMatch(/rewards +10 pairs: 2 higher, 2 lower, 6 the same/)
  expect(out).toMatch(/advantages +other in 2 of 2 groups \(100\.0 %\)/)
  expect(out).toContain('run: again')
})

test('without --apply nothing is written', async () => {
  const dir = await written()
  const { code, out } = await rescored(dir, 'sum', '--dir', 'again')
  expect(code).toBe(0)
  expect(out).toContain('12 rollouts, 3 groups, 2 steps')
  expect(out).toContain('would judge    each by sum@1')
  expect(out).toContain('would write    again, a run of 3 prompts, 12 rollouts and 12 rewards')
  expect(await readdir(dirname(dir))).toEqual(['run'])
})

test('an interruption leaves nothing behind', async () => {
  const dir = await written()
  const stop = new AbortController()
  const mark = join(dirname(dir), 'judging')
  const file = await module(
    dir,
    `import { writeFileSync } from 'node:fs'\n${own(`writeFileSync(${JSON.stringify(mark)}, ''); return new Promise(() => undefined)`)}`,
  )
  const looking = setInterval(() => {
    if (!existsSync(mark)) return
    clearInterval(looking)
    stop.abort(Object.assign(new Error('interrupted'), { name: 'CascadeError', code: 'INTERRUPTED' }))
  }, 10)
  const ended = await invoke(
    [
      'replay',
      dir,
      '--topic',
      'rollouts.math',
      '--mode',
      'rescored',
      '--verifier',
      file,
      '--dir',
      'stopped',
      '--apply',
    ],
    { cwd: dirname(dir), signal: stop.signal },
  )
  expect(ended.code).toBe(130)
  expect((await readdir(dirname(dir))).filter((n) => n.includes('stopped'))).toEqual([])
})

test('a folder that holds a run already is refused, before anything is judged', async () => {
  const dir = await written()
  const { code, err } = await rescored(dir, 'sum', '--dir', 'run', '--apply')
  expect(code).toBe(2)
  expect(err).toMatch(/^error RUN_EXISTS/)
})

test.each([
  ['nothing', 2, /--verifier: expected one of .*sum.*, or the file of a module, got nothing/],
  ['export const x = 1', 1, /expected it to export judge\(response, truth\)/],
  ['export default () => { throw new Error("no key") }', 1, /could not start: no key/],
  ['throw new Error("at once")', 1, /could not start: at once/],
  ['export const judge =', 1, /expected a module: line 2: Unexpected/],
])('as verifier, %s is refused', async (body, expected, message) => {
  const dir = await written()
  const word = body === 'nothing' ? body : await module(dir, `${body}\n`)
  const { code, err } = await rescored(dir, word, '--apply', '--dir', 'again')
  expect(code).toBe(expected)
  expect(err).toMatch(message)
  expect(existsSync(join(dirname(dir), 'again'))).toBe(false)
})

test('the interval of a mean over groups', () => {
  expect(meanInterval([{ n: 4, sum: 4 }])).toBeNull()
  expect(
    meanInterval([
      { n: 2, sum: 1 },
      { n: 2, sum: 1 },
    ]),
  ).toEqual([0.5, 0.5])
  // Members of a group that are all alike count as one: two groups of differences 1 and 0, whatever their size.
  const [low, high] = meanInterval([
    { n: 100, sum: 100 },
    { n: 100, sum: 0 },
  ])!
  expect(high - low).toBeCloseTo(2 * 1.959963984540054 * 0.5, 12)
})
