import { stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { createProgress, type ProgressEvent, type ProgressOptions } from '../../../src/cli/output/progress.ts'
import { type Control, control, evaluations, updates } from '../../../topics/index.ts'
import { MemoryOutput } from '../memory-output.ts'
import { sampleTransactions } from '../sample-run.ts'
import { screenOf } from '../screen.ts'

/** The sample run's events, one second apart, with a sample of throughput before each update. */
function events(): ProgressEvent[] {
  let timestamp = 0
  return sampleTransactions().flatMap((transaction): ProgressEvent[] => {
    const [{ topic, value }] = transaction as unknown as [{ topic: { name: string }; value: never }]
    if (topic.name !== control.name && topic.name !== updates.name && topic.name !== evaluations.name)
      return []
    timestamp += 500
    if (topic.name === control.name) return [{ type: 'control', record: value, timestamp }]
    if (topic.name === evaluations.name) return [{ type: 'evaluation', record: value, timestamp }]
    return [
      { type: 'throughput', tokens: 3000, rollouts: 16, timestamp },
      { type: 'update', record: value, timestamp },
    ]
  })
}

function run(
  options: Partial<ProgressOptions> & { isTTY?: boolean; width?: number },
  upTo?: (event: ProgressEvent) => boolean,
) {
  const stream = new MemoryOutput({ isTTY: options.isTTY ?? false, columns: options.width ?? 80 })
  const time = { now: 0 }
  const progress = createProgress({ stream, clock: { now: () => time.now }, interval: 0, ...options })
  for (const event of events()) {
    time.now = event.timestamp
    progress.event(event)
    if (upTo?.(event)) break
  }
  return { stream, progress, time }
}

const inMath = (event: ProgressEvent) =>
  event.type === 'update' && event.record.stage === 'math' && event.record.step === 5

test('a terminal: permanent lines at transitions, two live ones below', () => {
  const { stream } = run({ isTTY: true }, inMath)
  expect(screenOf(stripExceptMoves(stream.text))).toEqual([
    'sample  seed 7  sft → instruct → math',
    '  before training: instruction 0.0 %, math 4.0 %',
    '✓ sft  6 steps in 1:00',
    '  instruction  0.0 % → 40.0 % (31.0–49.0)  +40.0',
    '  math  4.0 % → 30.0 % (21.0–39.0)  +26.0',
    '✓ instruct  12 steps in 1:00',
    '  instruction  40.0 % → 70.0 % (61.0–79.0)  +30.0',
    '  math  30.0 % → 25.0 % (16.0–34.0)  −5.0',
    '3/3 math  ━━━━━━━━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌  step 5/12  reward 0.403  loss -0.0096',
    '  3000 tokens/s · 16 rollouts/s · stage 0:07 left · run 0:09 left',
  ])
})

test('closing takes the live lines away', () => {
  const { stream, progress } = run({ isTTY: true })
  progress.note('warning: something')
  progress.close()
  const screen = screenOf(stripExceptMoves(stream.text))
  expect(screen.slice(-4)).toEqual([
    '  instruction  70.0 % → 65.0 % (56.0–74.0)  −5.0',
    expect.stringMatching(/^✓ done in 0:/),
    'warning: something',
    '',
  ])
})

test.each([20, 33, 45, 60, 79])('nothing wraps in %i columns', (width) => {
  const { stream } = run({ isTTY: true, width }, inMath)
  const screen = screenOf(stripExceptMoves(stream.text))
  const live = screen.slice(screen.findIndex((line) => line.startsWith('3/3 math')))
  expect(live.length).toBeGreaterThan(0)
  for (const line of live) expect([...line].length).toBeLessThan(width)
  expect(live[0]).toContain('step 5/12')
})

test('colours unless NO_COLOR is set', () => {
  const colour = /\x1b\[\d+m/
  expect(run({ isTTY: true }, inMath).stream.text).toMatch(colour)
  expect(run({ isTTY: true, env: { NO_COLOR: '1' } }, inMath).stream.text).not.toMatch(colour)
})

test('not a terminal: plain lines every five seconds and at transitions', () => {
  const { stream } = run({})
  expect(stream.text).not.toContain('\x1b')
  expect(stream.lines()).toEqual([
    'sample  seed 7  sft → instruct → math',
    '[1/3 sft] begins: 6 steps on mixed',
    '  before training: instruction 0.0 %, math 4.0 %',
    '[1/3 sft] step 4/6, 3000 tokens/s, 16 rollouts/s, stage 0:01 left, loss 1.6667',
    '✓ sft  6 steps in 1:00',
    '  instruction  0.0 % → 40.0 % (31.0–49.0)  +40.0',
    '  math  4.0 % → 30.0 % (21.0–39.0)  +26.0',
    '[2/3 instruct] begins: 12 steps on instruction',
    '[2/3 instruct] step 4/12, reward 0.394, 3000 tokens/s, 16 rollouts/s, stage 0:07 left, run 0:23 left, loss -0.0076',
    '[2/3 instruct] step 9/12, reward 0.489, 3000 tokens/s, 16 rollouts/s, stage 0:02 left, run 0:18 left, loss 0.0041',
    '✓ instruct  12 steps in 1:00',
    '  instruction  40.0 % → 70.0 % (61.0–79.0)  +30.0',
    '  math  30.0 % → 25.0 % (16.0–34.0)  −5.0',
    '[3/3 math] begins: 12 steps on math',
    '[3/3 math] step 4/12, reward 0.394, 3000 tokens/s, 16 rollouts/s, stage 0:07 left, run 0:09 left, loss -0.0076',
    '[3/3 math] step 9/12, reward 0.489, 3000 tokens/s, 16 rollouts/s, stage 0:02 left, run 0:04 left, loss 0.0041',
    '✓ math  12 steps in 1:00',
    '  math  25.0 % → 60.0 % (51.0–69.0)  +35.0',
    '  instruction  70.0 % → 65.0 % (56.0–74.0)  −5.0',
    '✓ done in 0:39',
  ])
})

test('JSON: what others note is an event of its own', () => {
  const { stream, progress } = run({ json: true })
  progress.note('warning: a "quoted" one')
  expect(stream.lines().map((line) => JSON.parse(line))).toContainEqual({
    event: 'note',
    text: 'warning: a "quoted" one',
  })
})

test('JSON: one object a line for every step and transition', () => {
  const notices = run({ json: true, isTTY: true })
    .stream.lines()
    .map((line) => JSON.parse(line))
  const count = (event: string) => notices.filter((n) => n.event === event).length
  expect(['run-begin', 'stage-begin', 'step', 'evaluation', 'stage-end', 'run-end'].map(count)).toEqual([
    1, 3, 30, 8, 3, 1,
  ])
  expect(notices.find((n) => n.event === 'step' && n.stage === 'math' && n.step === 5)).toMatchObject({
    steps: 12,
    version: 23,
    tokensPerSecond: 3000,
    rolloutsPerSecond: 16,
    stageSecondsLeft: 7,
    runSecondsLeft: 9,
  })
  expect(notices.find((n) => n.event === 'stage-end' && n.stage === 'math').scores[0]).toEqual({
    domain: 'math',
    before: 0.25,
    after: 0.6,
    interval: [expect.closeTo(0.51), expect.closeTo(0.69)],
    own: true,
  })
})

test('a resumed run goes on where it stood, and shows only what is new', () => {
  const stream = new MemoryOutput()
  const time = { now: 0 }
  const progress = createProgress({ stream, clock: { now: () => time.now }, interval: 0 })
  const all = events()
  const cut = all.findIndex(inMath)
  for (const event of all.slice(0, cut)) progress.past(event)
  const stop = { type: 'command', command: 'stop', id: 'a', epoch: 1, seq: 999 } as const
  progress.past({ type: 'control', record: stop, timestamp: all[cut]!.timestamp })
  const gap = 3_600_000
  time.now = all[cut]!.timestamp + gap
  progress.event({ ...all[cut]!, timestamp: time.now } as ProgressEvent)
  expect(stream.lines()).toEqual([
    '[3/3 math] step 5/12, reward 0.403, stage 0:07 left, run 0:09 left, loss -0.0096',
  ])
})

test('pause, resume, stop and a step without an update are said', () => {
  const { stream, progress, time } = run({}, inMath)
  const before = stream.lines().length
  let seq = 1000
  const say = (record: Record<string, unknown>) =>
    progress.event({
      type: 'control',
      record: { ...record, epoch: 1, seq: seq++ } as Control,
      timestamp: time.now,
    })
  say({ type: 'command', command: 'pause', id: 'a' })
  time.now += 6000
  progress.tick()
  time.now += 20_000
  progress.tick()
  say({ type: 'command', command: 'resume', id: 'b' })
  say({
    type: 'batch-closed',
    stage: 'math',
    step: 6,
    baseVersion: 23,
    version: 23,
    opens: false,
    groups: [],
    counts: { admitted: 2, kept: 0, filtered: 2, lost: 0 },
    reason: '0 kept groups of at least 1',
  })
  say({ type: 'command', command: 'stop', id: 'c' })
  expect(stream.lines().slice(before)).toEqual([
    '  paused on command',
    expect.stringMatching(/^\[3\/3 math\] step 5\/12, reward 0.403, paused, .*loss -0.0096$/),
    expect.stringMatching(/^\[3\/3 math\] step 5\/12, reward 0.403, paused, loss -0.0096$/),
    '  resumed on command',
    '  math: step 6 closed without an update: 0 kept groups of at least 1',
    '  stopping on command',
  ])
})

/** Without colours, but with the moves of the cursor. */
function stripExceptMoves(text: string): string {
  return text.replace(/\x1b\[\d*m/g, '')
}

test('the helper that strips colours agrees with the platform', () => {
  expect(stripExceptMoves('\x1b[1mx\x1b[22m')).toBe(stripVTControlCharacters('\x1b[1mx\x1b[22m'))
})
