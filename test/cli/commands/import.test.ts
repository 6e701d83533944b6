import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type Prompt, prompts, type Reward, type Rollout, rewards, rollouts } from '../../../topics/index.ts'
import { invoke, jsonLines } from '../invoke.ts'
import { valuesOf } from '../replay/stripped.ts'
import { start } from '../run/harness.ts'
import { scratch } from '../run-on-disk.ts'

/** A folder with files of rows, one JSON value a line; a text is a line as it stands. */
async function folder(files: Readonly<Record<string, readonly unknown[]>>): Promise<string> {
  const cwd = await scratch()
  for (const [name, rows] of Object.entries(files)) {
    const text = rows.map((r) => `${typeof r === 'string' ? r : JSON.stringify(r)}\n`).join('')
    await mkdir(dirname(join(cwd, name)), { recursive: true })
    await writeFile(join(cwd, name), name.endsWith('.gz') ? gzipSync(text) : text)
  }
  return cwd
}

const take = (cwd: string, format: string, ...more: string[]) =>
  invoke(['import', '--format', format, '--dir', 'run', '--domain', 'math', ...more], { cwd })

const verl = (prompt: string, output: string, step: number, score = 1) => ({
  input: prompt,
  output,
  gts: '2',
  score,
  step,
})

test('a verl dump: files in their natural order, the groups of a balanced batch put together', async () => {
  const cwd = await folder({
    'dump/10.jsonl': [verl('b', '=3', 10, 0), verl('c', '=2', 10), verl('b', '=2\u2028', 10)],
    'dump/2.jsonl.gz': [verl('a', '=2', 2), verl('a', '=5', 2, 0)],
    'dump/notes.txt': ['nothing'],
  })
  const { code, out, err } = await take(cwd, 'verl', '--in', 'dump', '--verifier', 'theirs')
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out).toContain('5 rollouts of 2 files: 3 groups, 2 steps, 5 rewards, mean score 0.6000')
  expect(out).toMatch(/marked as absent: .*responseTokens/)
  const run = join(cwd, 'run')
  const made = await valuesOf<Rollout>(run, rollouts('math'))
  expect(made.map((r) => [r.step, r.promptText, r.responseText, r.index, r.groupSize])).toEqual([
    [2, 'a', '=2', 0, 2],
    [2, 'a', '=5', 1, 2],
    [10, 'b', '=3', 0, 2],
    [10, 'b', '=2\u2028', 1, 2],
    [10, 'c', '=2', 0, 1],
  ])
  const asked = await valuesOf<Prompt>(run, prompts('math'))
  expect(asked.map((p) => [p.promptText, p.verifier, p.groundTruth])).toEqual([
    ['a', 'theirs', '2'],
    ['b', 'theirs', '2'],
    ['c', 'theirs', '2'],
  ])
  const judged = await valuesOf<Reward>(run, rewards('math'))
  expect(judged.map((r) => r.score)).toEqual([1, 0, 0, 1, 1])
  for (const r of judged) expect(made[r.rolloutOffset]!.id).toBe(r.id)
  const cat = await invoke(['topics', 'cat', 'run', 'rollouts.math', '--limit', '1', '--json'], { cwd })
  expect(jsonLines(cat.out)[0]).toMatchObject({
    headers: { 'source-file': '2.jsonl.gz', 'source-line': '1' },
  })
})

test('its report says how the run came about, and nothing of an interruption', async () => {
  const cwd = await folder({ 'dump/1.jsonl': [verl('a', '=2', 1)] })
  expect((await take(cwd, 'verl', '--in', 'dump')).code).toBe(0)
  const { code, out } = await invoke(['report', 'run', '--json'], { cwd })
  expect([code, JSON.parse(out)]).toMatchObject([0, { run: 'run', status: 'imported', stages: [] }])
  expect((await invoke(['report', 'run', '--write'], { cwd })).out).toMatch(/^run imported · /)
  for (const name of ['report.md', 'report.html']) {
    const text = await readFile(join(cwd, 'run', name), 'utf8')
    expect(text).toContain('imported')
    expect(text).not.toMatch(/interrupted(?! *\{)/)
  }
  const again = ['replay', 'run', '--topic', 'rollouts.math', '--mode', 'rescored', '--verifier', 'sum']
  await invoke([...again, '--apply', '--dir', 'again'], { cwd })
  expect(JSON.parse((await invoke(['report', 'again', '--json'], { cwd })).out).status).toBe('rescored')
})

const nemo = {
  content: [['1+1', '=2']],
  rewards: [1],
  input_lengths: [3],
  token_ids: [[1, 2, 3]],
  token_loss_mask: [[0, 1, 1]],
  generation_logprobs: [[0, -1, -2]],
}
const training = {
  text: '1+1=2',
  n_predicted: 2,
  reward: 1,
  logprobs: [-1, -2],
  input_ids: [1, 2, 3],
  labels: [-100, 2, 3],
  finished: true,
  metadata: { model_version: 7 },
}
const dump = {
  task_id: 4,
  sample_idx: 0,
  head_version: 7,
  tail_version: 7,
  reward: 1,
  prompt: '1+1',
  completion: '=2',
}

test.each<[string, string, unknown[], object]>([
  [
    'plain',
    'a.jsonl',
    [{ prompt: '1+1', response: '=2', reward: 1, groundTruth: { x: 2 } }],
    { groundTruth: { x: 2 } },
  ],
  ['nemo-rl', 'train_data_step5.jsonl', [nemo], { step: 5, responseLogprobs: Float32Array.of(-1, -2) }],
  [
    'pipelinerl',
    '0.jsonl',
    [[training]],
    { policyVersion: 7, responseTokens: Int32Array.of(2, 3), finishReason: 'stop' },
  ],
  ['verl', '3.jsonl', [verl('1+1', '=2', 3)], { step: 3, groundTruth: '2' }],
  ['areal', '7/4.jsonl', [dump], { policyVersion: 7 }],
])('%s rows are replayed as they are', async (format, name, rows, wanted) => {
  const cwd = await folder({ [name]: rows })
  const { code, out } = await take(cwd, format, '--in', name, '--json')
  expect(code).toBe(0)
  expect(JSON.parse(out)).toMatchObject({
    format,
    rows: 1,
    rollouts: 1,
    groups: 1,
    rewards: 1,
    skipped: { lines: 0 },
  })
  const [rollout] = await valuesOf<Rollout>(join(cwd, 'run'), rollouts('math'))
  expect(rollout).toMatchObject({ promptText: '1+1', responseText: '=2', ...wanted })
  const seen = await invoke(['replay', 'run', '--topic', 'rollouts.math', '--json'], { cwd })
  const [line, summary] = jsonLines(seen.out)
  expect(line).toMatchObject({ verdict: 'score', reward: 1, tokens: rollout!.responseTokens.length || null })
  expect(summary).toMatchObject({ rollouts: 1, reward: { n: 1, mean: 1 } })
})

test('imported rollouts are judged again with a verifier from a file', async () => {
  const cwd = await folder({
    'a.jsonl': [
      { prompt: '1+1', response: '=2', reward: 0, groundTruth: { answer: 2 } },
      { prompt: '1+1', response: '=3', reward: 1, groundTruth: { answer: 2 } },
      { prompt: '1+1', response: '=2', groundTruth: { answer: 2 } },
    ],
  })
  await writeFile(
    join(cwd, 'v.ts'),
    "export const version = '9'\nexport const judge = (text: string, truth: { answer: number }) => Number(text === '=' + truth.answer)\n",
  )
  await take(cwd, 'plain', '--in', 'a.jsonl')
  const replay = ['replay', 'run', '--topic', 'rollouts.math', '--mode', 'rescored', '--verifier', './v.ts']
  const { code, out } = await invoke([...replay, '--dir', 'again', '--apply', '--json'], { cwd })
  expect(code).toBe(0)
  expect(jsonLines(out)[0]).toMatchObject({
    rollouts: 3,
    before: { score: 2, none: 1 },
    after: { score: 3 },
    paired: { n: 2, up: 1, down: 1 },
  })
})

test('it is no run to train on', async () => {
  const cwd = await folder({ 'a.jsonl': [{ prompt: 'q', response: 'a' }] })
  await take(cwd, 'plain', '--in', 'a.jsonl')
  const { code, err } = await invoke(['run', '--resume', '--dir', 'run'], { cwd })
  expect(code).toBe(2)
  expect(err).toContain('expected a run that was trained, got imported plain rollouts')
  expect(await invoke(['report', 'run'], { cwd })).toMatchObject({ code: 0, err: '' })
  const recorded = await invoke(['replay', 'run', '--topic', 'rollouts.math', '--mode', 'recorded'], { cwd })
  expect(recorded.code).toBe(2)
})

const good = { prompt: 'q', response: 'a', reward: 1 }

test('a malformed line is named, and nothing is left of the run', async () => {
  const cwd = await folder({ 'sub/a.jsonl': [good, { ...good, reward: 'x' }] })
  const { code, err, out } = await take(cwd, 'plain', '--in', 'sub/a.jsonl')
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(err).toBe('error RECORD_INVALID: sub/a.jsonl:2: reward: expected a finite number, got "x"\n')
  expect(await readdir(cwd)).toEqual(['sub'])
})

test('with --skip-bad malformed lines are counted and named', async () => {
  const cwd = await folder({
    'a.jsonl': [good, '{"prompt":', { ...good, note: 1 }, { prompt: 'q' }, '{"prompt": "q", "reward": NaN}'],
  })
  const { code, out, err } = await take(cwd, 'plain', '--in', 'a.jsonl', '--skip-bad')
  expect(code).toBe(0)
  expect(err.split('\n').slice(0, 3)).toEqual([
    'left out a.jsonl:2: (line): expected JSON, got "{\\"prompt\\":"',
    'left out a.jsonl:4: response: expected a text, got nothing',
    'left out a.jsonl:5: (line): expected JSON, got NaN, which JSON does not have',
  ])
  expect(out).toContain('2 rollouts of 1 file')
  expect(out).toContain('fields not taken over: note (1)')
  expect(out).toContain('malformed lines left out: 3')
})

test('where every line is malformed there is no run', async () => {
  const cwd = await folder({ 'a.jsonl': ['1', '2'] })
  const { code, err } = await take(cwd, 'plain', '--in', 'a.jsonl', '--skip-bad')
  expect(code).toBe(2)
  expect(err).toContain('expected rows of plain, got none; 2 malformed lines were left out')
  expect(await readdir(cwd)).toEqual(['a.jsonl'])
})

test.each<[string, string[], RegExp]>([
  [
    'a file that is not there',
    ['--in', 'gone.jsonl'],
    /--in: expected a file or a folder, got gone\.jsonl: ENOENT/,
  ],
  [
    'a folder without rows',
    ['--in', 'empty'],
    /--in: expected \.jsonl or \.jsonl\.gz files in empty, got none/,
  ],
  [
    'a domain that is no name',
    ['--in', 'a.jsonl', '--domain', 'A b'],
    /--domain: expected lower-case letters/,
  ],
  ['an empty file', ['--in', 'b.jsonl'], /--in: expected rows of plain, got none\n/],
])('%s is wrong usage', async (_, more, message) => {
  const cwd = await folder({ 'a.jsonl': [good], 'b.jsonl': [], 'empty/x.txt': [] })
  const { code, err } = await take(cwd, 'plain', ...more)
  expect(code).toBe(2)
  expect(err).toMatch(message)
})

test('a format that is none is wrong usage', async () => {
  const { code, err } = await invoke(['import', '--format', 'trl', '--in', 'x'])
  expect(code).toBe(2)
  expect(err).toMatch(/plain, nemo-rl, pipelinerl, verl, areal/)
})

test('a run that is there is left alone', async () => {
  const cwd = await folder({ 'a.jsonl': [good] })
  await take(cwd, 'plain', '--in', 'a.jsonl')
  const before = await readFile(join(cwd, 'run/run.json'), 'utf8')
  const { code, err } = await take(cwd, 'plain', '--in', 'a.jsonl')
  expect(code).toBe(2)
  expect(err).toMatch(/^error RUN_EXISTS/)
  expect(await readFile(join(cwd, 'run/run.json'), 'utf8')).toBe(before)
})

test('without --dir the run is put into runs/', async () => {
  const cwd = await folder({ 'a.jsonl': [good] })
  const { out } = await invoke(['import', '--format', 'plain', '--in', 'a.jsonl', '--json'], { cwd })
  const [name] = await readdir(join(cwd, 'runs'))
  expect(JSON.parse(out).dir).toBe(join(cwd, 'runs', name!))
})

test('Ctrl-C leaves nothing behind', async () => {
  const cwd = await folder({})
  const line = `${JSON.stringify({ ...good, response: 'x'.repeat(2000) })}\n`.repeat(200)
  // More than is read by the time that progress is shown first.
  for (let i = 0; i < 400; i++) await writeFile(join(cwd, `${i}.jsonl`), line.replaceAll('"q"', `"${i}"`))
  const running = start(['import', '--format', 'plain', '--in', cwd, '--dir', join(cwd, 'run')])
  const partial = async () => (await readdir(cwd)).some((name) => name.endsWith('.partial'))
  while (!(await partial())) await new Promise((resolve) => setTimeout(resolve, 5))
  running.kill('SIGINT')
  expect(await running.ended).toMatchObject({ code: 130 })
  expect((await readdir(cwd)).filter((name) => !name.endsWith('.jsonl'))).toEqual([])
})
