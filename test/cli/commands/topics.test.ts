import { expect, test } from 'vitest'
import { deadLetters, updates } from '../../../topics/index.ts'
import { invoke, jsonLines } from '../invoke.ts'
import { openToAppend, scratch, writeRun } from '../run-on-disk.ts'
import { stages, updateOf } from '../sample-run.ts'

async function sample(): Promise<string> {
  const cwd = await scratch()
  await writeRun(`${cwd}/runs/first`)
  return cwd
}

test('ls: a table, or one JSON object a line; the newest run where none is named', async () => {
  const cwd = await sample()
  const { code, out } = await invoke(['topics', 'ls'], { cwd })
  expect(code).toBe(0)
  expect(out.split('\n').slice(0, 2)).toEqual([
    expect.stringMatching(/^topic +records +earliest +next +bytes$/),
    expect.stringMatching(/^advantages\.instruction +48 +0 +48 +\d+\.\d KiB$/),
  ])
  const rows = jsonLines((await invoke(['topics', 'ls', 'runs/first', '--json'], { cwd })).out)
  expect(rows.map((r) => r.name)).toEqual([
    'advantages.instruction',
    'advantages.math',
    'checkpoints',
    'control',
    'evaluations',
    'prompts.instruction',
    'prompts.math',
    'rollouts.instruction',
    'rollouts.math',
    'updates',
  ])
  expect(rows.at(-1)).toEqual({
    name: 'updates',
    records: 30,
    earliest: 0,
    next: 30,
    bytes: expect.any(Number),
  })
})

test('cat: JSON lines where the output is no terminal, readable ones on a terminal', async () => {
  const cwd = await sample()
  const piped = await invoke(['topics', 'cat', 'first', 'rollouts.math'], { cwd })
  const [record, ...more] = jsonLines(piped.out)
  expect(more).toEqual([])
  expect(record).toMatchObject({ offset: 0, key: 'math-0', headers: { trace: 't1' } })
  expect(record?.value).toMatchObject({
    responseTokens: [4, 0],
    responseLogprobs: [-0.5, -0.25],
    lossMask: [1, 1],
    sampling: { stopTokens: [0] },
  })
  const seen = await invoke(['topics', 'cat', 'first', 'rollouts.math'], { cwd, tty: true })
  expect(seen.out).toMatch(/^ {5}0 {2}[\d:.]+ {2}stage=math step=1 admission=0 index=0 .*…\n$/)
  const asked = await invoke(['topics', 'cat', 'first', 'rollouts.math', '--json'], { cwd, tty: true })
  expect(asked.out).toBe(piped.out)
})

test('cat: from, to, limit and filter', async () => {
  const cwd = await sample()
  const offsets = async (...flags: string[]) => {
    const { code, out, err } = await invoke(['topics', 'cat', 'first', 'updates', ...flags], { cwd })
    expect([code, err]).toEqual([0, ''])
    return jsonLines(out).map((r) => r.offset)
  }
  expect(await offsets('--from', '3', '--to', '6')).toEqual([3, 4, 5])
  expect(await offsets('--from', '27')).toEqual([27, 28, 29])
  expect(await offsets('--from', 'latest')).toEqual([])
  expect(await offsets('--to', '2020-01-01')).toEqual([])
  expect(await offsets('--from', '2020-01-01T00:00:00Z', '--limit', '2')).toEqual([0, 1])
  expect(await offsets('--filter', 'stage=math', '--filter', 'step=2')).toEqual([19])
  expect(await offsets('--filter', 'stage=math', '--limit', '1')).toEqual([18])
  expect(await offsets('--filter', 'key=sft', '--filter', 'stats={}', '--limit', '1')).toEqual([0])
  const wrong = await invoke(['topics', 'cat', 'first', 'updates', '--from', 'soon'], { cwd })
  expect(wrong).toEqual({
    code: 2,
    out: '',
    err: 'error USAGE: --from: expected earliest, latest, an offset or an ISO time, got soon\n',
  })
})

test('a single word is a topic of the newest run, unless it names a run', async () => {
  const cwd = await sample()
  const named = await invoke(['topics', 'cat', 'first', 'evaluations'], { cwd })
  expect(await invoke(['topics', 'cat', 'evaluations'], { cwd })).toEqual(named)
  const { code, err } = await invoke(['topics', 'cat', 'first'], { cwd })
  expect(code).toBe(2)
  expect(err).toMatch(
    /^error USAGE: expected a topic, one of advantages\.instruction, .*updates, got none\n$/,
  )
})

test('an unknown topic: those that there are', async () => {
  const cwd = await sample()
  const log = await openToAppend(`${cwd}/runs/first`)
  const letter = {
    id: 'x',
    operator: 'verify',
    sourceTopic: 'rewards.math',
    sourceOffset: 0,
    code: 'VERIFIER_FAILED',
    message: 'm',
    attempts: 3,
    raw: Uint8Array.of(1),
  }
  await log.commit({ append: [{ topic: deadLetters('rewards.math'), value: letter }], settle: [] })
  await log.close()
  const { code, err } = await invoke(['topics', 'cat', 'first', 'rollouts.chemistry'], { cwd })
  expect(code).toBe(2)
  expect(err).toMatch(
    /^error TOPIC_UNKNOWN: expected one of the topics .*rewards\.math, rewards\.math\.dlq, .*, got rollouts\.chemistry\n$/,
  )
  expect(jsonLines((await invoke(['topics', 'cat', 'first', 'rewards.math.dlq'], { cwd })).out)).toHaveLength(
    1,
  )
})

test('no run: says where it looked', async () => {
  const cwd = await scratch()
  const none = await invoke(['topics', 'ls'], { cwd })
  expect(none).toMatchObject({
    code: 2,
    err: expect.stringContaining(`${cwd}/runs: expected a run, got none`),
  })
  await writeRun(`${cwd}/runs/one`)
  await writeRun(`${cwd}/runs/two`)
  const wrong = await invoke(['topics', 'ls', 'three'], { cwd })
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('(one of one, two), got neither') })
})

test('tail: the latest records, and with --follow new ones until the signal, which is a normal end', async () => {
  const cwd = await sample()
  const latest = await invoke(['topics', 'tail', 'first', 'updates', '-n', '2'], { cwd })
  expect(jsonLines(latest.out).map((r) => r.offset)).toEqual([28, 29])

  const log = await openToAppend(`${cwd}/runs/first`)
  const append = (step: number) =>
    log.commit({ append: [{ topic: updates, value: updateOf(stages[2]!, step, 40) }], settle: [] })
  // All that there is, and two more: whenever it comes to look for the latest, it has to go on to these.
  const limited = invoke(['topics', 'tail', 'first', 'updates', '-n', '1000', '-f', '--limit', '32'], { cwd })
  await append(13)
  await append(14)
  expect(jsonLines((await limited).out).map((r) => r.offset)).toEqual(Array.from({ length: 32 }, (_, i) => i))

  const abort = new AbortController()
  const followed = invoke(['topics', 'tail', 'first', 'updates', '-n', '0', '-f'], {
    cwd,
    signal: abort.signal,
  })
  setTimeout(() => abort.abort(new Error('Ctrl-C')), 100)
  expect(await followed).toEqual({ code: 0, out: '', err: '' })
  await log.close()
})
