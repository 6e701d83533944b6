import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { writeReport } from '../../../src/cli/report/index.ts'
import { packageVersion } from '../../../src/version.ts'
import { control } from '../../../topics/index.ts'
import { invoke } from '../invoke.ts'
import { openToAppend, scratch, writeRun } from '../run-on-disk.ts'
import { sampleTransactions, stages } from '../sample-run.ts'

async function sample(transactions = sampleTransactions()): Promise<string> {
  const cwd = await scratch()
  await writeRun(`${cwd}/runs/first`, transactions)
  return cwd
}

async function reportOf(cwd: string) {
  const { code, out, err } = await invoke(['report', '--json'], { cwd })
  expect([code, err]).toEqual([0, ''])
  return JSON.parse(out)
}

test('the fields that scripts read', async () => {
  const report = await reportOf(await sample())
  expect(report.stages).toMatchObject([
    { name: 'sft', domain: 'mixed', steps: 6, before: 0.02, after: 0.35, best: 0.625, seconds: 60 },
    { name: 'instruct', domain: 'instruction', steps: 12, before: 0.4, after: 0.7, best: 0.7, seconds: 60 },
    { name: 'math', domain: 'math', steps: 12, before: 0.25, after: 0.6, best: 0.6, seconds: 60 },
  ])
  expect(report.matrix).toEqual({
    start: { instruction: 0, math: 0.04 },
    sft: { instruction: 0.4, math: 0.3 },
    instruct: { instruction: 0.7, math: 0.25 },
    math: { instruction: 0.65, math: 0.6 },
  })
  // A step has 2 kept groups in its batch, one filtered and one surplus, each with the fates of sample-run.ts.
  const rl = { trained: 12 * 6, skipped: 12, dropped: 12 * 7, error: 12 * 2 }
  expect(report.fates).toEqual({
    sft: { trained: 0, skipped: 0, dropped: 0, error: 0 },
    instruct: rl,
    math: rl,
  })
  expect(report).toMatchObject({
    seed: 7,
    version: packageVersion(),
    status: 'done',
    prompts: { instruction: 100, math: 100 },
  })
  expect(report.curves.math).toHaveLength(12)
})

test('for a terminal', async () => {
  const { code, out } = await invoke(['report', 'first'], { cwd: await sample() })
  expect(code).toBe(0)
  expect(out.split('\n').slice(1, 19)).toEqual([
    '',
    'Stages',
    'stage     domain       steps  before   after  change    best  time',
    'sft       mixed          6/6   2.0 %  35.0 %   +33.0  62.5 %  1:00',
    'instruct  instruction  12/12  40.0 %  70.0 %   +30.0  70.0 %  1:00',
    'math      math         12/12  25.0 %  60.0 %   +35.0  60.0 %  1:00',
    '',
    'Held-out greedy accuracy after each stage, 95 % interval, 100 prompts a domain',
    '                 instruction                math',
    'start        0.0 % (0.0–9.0)    4.0 % (0.0–13.0)',
    'sft       40.0 % (31.0–49.0)  30.0 % (21.0–39.0)',
    'instruct  70.0 % (61.0–79.0)  25.0 % (16.0–34.0)',
    'math      65.0 % (56.0–74.0)  60.0 % (51.0–69.0)',
    '',
    'Mean reward, first to last step',
    'instruct  0.379  ▂▁▂▄▃▄▆▆▆███  0.655',
    'math      0.379  ▂▁▂▄▃▄▆▆▆███  0.655',
    '',
  ])
})

test('a run in the middle of a stage: what is known, and who writes it', async () => {
  const all = sampleTransactions()
  const math = all.findIndex(([a]) => (a!.value as { stage?: string }).stage === 'math')
  const cut = all.findIndex(
    ([a], i) => i > math && a!.topic.name === 'updates' && (a!.value as { step: number }).step === 5,
  )
  const cwd = await sample(all.slice(0, cut + 3))
  const report = await reportOf(cwd)
  expect(report.status).toBe('interrupted')
  expect(report.stages.at(-1)).toMatchObject({
    name: 'math',
    steps: 5,
    planned: 12,
    before: 0.25,
    after: null,
  })
  expect(report.matrix.math).toBeUndefined()
  expect(report.open).toEqual({ sft: 0, instruct: 0, math: 8 })
  expect(report.fates.math).toEqual({ trained: 30, skipped: 5, dropped: 35, error: 10 })
  const log = await openToAppend(`${cwd}/runs/first`)
  expect((await reportOf(cwd)).status).toBe('running')
  await log.close()
})

test('a run that has only begun has a report, in every form', async () => {
  const cwd = await sample(sampleTransactions().slice(0, 1))
  const { code, out } = await invoke(['report', '--write'], { cwd })
  expect(code).toBe(0)
  expect(out).toContain('math      math          0/12       –      –       –     –     –')
  expect(existsSync(`${cwd}/runs/first/report.html`)).toBe(true)
})

test('records of a replaced coordinator do not count', async () => {
  const cwd = await sample()
  const log = await openToAppend(`${cwd}/runs/first`)
  const late = {
    type: 'stage-end',
    epoch: 1,
    seq: 2,
    stage: 'math',
    steps: 3,
    version: 9,
    checkpoint: 'c',
  } as const
  await log.commit({
    append: [{ topic: control, value: { ...late, reason: 'late', seconds: 1 } }],
    settle: [],
  })
  await log.close()
  expect((await reportOf(cwd)).stages.at(-1)).toMatchObject({ steps: 12, reason: 'steps', seconds: 60 })
})

test('--write: three files, of which the page loads nothing and runs nothing', async () => {
  const cwd = await sample()
  const { code } = await invoke(['report', '--write'], { cwd })
  expect(code).toBe(0)
  const file = (name: string) => readFileSync(`${cwd}/runs/first/${name}`, 'utf8')
  expect(JSON.parse(file('report.json'))).toEqual(await reportOf(cwd))
  expect(file('report.md')).toContain(
    '| math | math | 12 of 12 | 25.0 % | 60.0 % | +35.0 | 60.0 % | 1:00 | steps |',
  )
  const html = file('report.html')
  expect(html).not.toMatch(/https?:|<script|<link|<img|url\(|@import/)
  expect(html.match(/<svg /g)).toHaveLength(2 + 4 + 4)
  expect(html).toContain('color-scheme: light dark')
  expect(html).toContain('<td class="heat own" style="--v:0.600"><b>60.0 %</b><small>51.0–69.0</small></td>')
  // Every element that is opened is closed, in order.
  const open: string[] = []
  for (const [, close, name, self] of html.matchAll(/<(\/?)([a-z]\w*)[^>]*?(\/?)>/g)) {
    if (self || name === 'meta') continue
    if (!close) open.push(name!)
    else expect(open.pop()).toBe(name)
  }
  expect(open).toEqual([])
  const { curves, ...rest } = await writeReport(`${cwd}/runs/first`)
  expect(Object.keys(curves)).toEqual(stages.map((s) => s.name))
  expect(rest.status).toBe('done')
})
