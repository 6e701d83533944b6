import { expect, test } from 'vitest'
import { controlRecords } from '../../streams/control-records.ts'
import type { Append } from '../../streams/ports.ts'
import { type Control, control } from '../../topics/index.ts'
import { turns } from './helpers.ts'
import { MemoryLog } from './memory-log.ts'
import { closed, controlWriter } from './stages.ts'

type Say = ReturnType<typeof controlWriter>

async function told(...records: Control[]): Promise<MemoryLog> {
  const log = new MemoryLog()
  await tell(log, ...records)
  return log
}

async function tell(log: MemoryLog, ...records: Control[]): Promise<void> {
  const append = records.map((value) => ({ topic: control, value }) as Append)
  if (append.length > 0) await log.commit({ append, settle: [] })
  await turns(50)
}

async function listen(log: MemoryLog, past?: boolean) {
  const seen: string[] = []
  const subscription = controlRecords(log, past).subscribe({
    next: (c) => seen.push('stage' in c ? `${c.type} ${c.stage}` : c.type),
    complete: () => seen.push('|'),
    error: (e: Error) => seen.push(`# ${e.message}`),
  })
  await turns(50)
  return { seen, subscription }
}

const begin = (say: Say, stage: string) => say({ type: 'stage-begin', stage, index: 0, version: 0 })
const drain = (say: Say, stage: string) => say({ type: 'stage-drain', stage, steps: 1, version: 0 })
const end = (say: Say) => say({ type: 'run-end', version: 0 })

test('of the past, the stage that is running, then everything as it is written, to the end of the run', async () => {
  const say = controlWriter()
  const log = await told(begin(say, 'a'), drain(say, 'a'), begin(say, 'b'), say(closed({ stage: 'b' })))
  const { seen, subscription } = await listen(log)
  expect(seen).toEqual(['stage-begin b'])
  await tell(log, say(closed({ stage: 'b', step: 2 })), drain(say, 'b'))
  expect(seen).toEqual(['stage-begin b', 'batch-closed b', 'stage-drain b'])
  await tell(log, begin(say, 'c'), end(say))
  expect(seen.slice(3)).toEqual(['stage-begin c', 'run-end', '|'])
  expect(subscription.closed).toBe(true)
})

test('a stage that is drained already is not begun again', async () => {
  const say = controlWriter()
  const log = await told(begin(say, 'a'), drain(say, 'a'))
  const { seen, subscription } = await listen(log)
  expect(seen).toEqual([])
  await tell(log, begin(say, 'b'))
  expect(seen).toEqual(['stage-begin b'])
  subscription.unsubscribe()
})

test('a run that has ended: its end, and nothing more', async () => {
  const say = controlWriter()
  const { seen } = await listen(await told(begin(say, 'a'), drain(say, 'a'), end(say)))
  expect(seen).toEqual(['run-end', '|'])
})

test.each([
  ['of a stage that is running', ['stage-begin a', '|'], (say: Say) => [begin(say, 'a')]],
  ['between stages', ['|'], (say: Say) => [begin(say, 'a'), drain(say, 'a')]],
  ['of a run that has not begun', ['|'], () => []],
])('the past alone, %s', async (_, expected, records) => {
  const log = await told(...records(controlWriter()))
  const { seen } = await listen(log, true)
  expect(seen).toEqual(expected)
})

test('what a coordinator wrote after it was replaced is left out, past and live', async () => {
  const [old, newer] = [controlWriter(1), controlWriter(2)]
  const log = await told(begin(old, 'a'), begin(newer, 'b'), drain(old, 'b'))
  const { seen, subscription } = await listen(log)
  expect(seen).toEqual(['stage-begin b'])
  await tell(log, end(old), drain(newer, 'b'))
  expect(seen).toEqual(['stage-begin b', 'stage-drain b'])
  subscription.unsubscribe()
})

test('a record that cannot be read is the error of the stream', async () => {
  const log = await told()
  log.corrupt(control.name, Uint8Array.of(1, 2, 3))
  const { seen } = await listen(log)
  expect(seen).toEqual([expect.stringMatching(/^# control@0/)])
})

test('unsubscribing stops the reading', async () => {
  const say = controlWriter()
  const log = await told(begin(say, 'a'))
  const { seen, subscription } = await listen(log)
  subscription.unsubscribe()
  const { fetches } = log
  await tell(log, drain(say, 'a'))
  expect(seen).toEqual(['stage-begin a'])
  expect(log.fetches).toBe(fetches)
})
