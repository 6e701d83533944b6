import { expect, test } from 'vitest'
import { promptRecords } from '../../streams/admissions.ts'
import { hashOutcome } from '../../streams/group-id.ts'
import type { Append } from '../../streams/ports.ts'
import {
  type RoleName,
  roleNames,
  runGenerate,
  runGroup,
  runPack,
  runUpdate,
  runVerify,
} from '../../streams/roles.ts'
import {
  advantages,
  type Control,
  control,
  gradientBatches,
  rewards,
  rollouts,
  type Topic,
  updates,
} from '../../topics/index.ts'
import { MemoryLog } from './memory-log.ts'
import { closed, controlWriter, rlStage } from './stages.ts'
import { arithmetic, Model, parity, stillClock, timeless, verifiersOf } from './world.ts'

const stage = rlStage({ prompts: 4, groupSize: 4 })

function rolesOver(log: MemoryLog, model: Model, once: boolean): Record<RoleName, () => Promise<void>> {
  const { signal } = new AbortController()
  const options = { stages: [stage], credit: { records: 32, bytes: 1 << 20 }, signal, once }
  const clock = stillClock
  const verifying = {
    concurrency: 2,
    attempts: 1,
    timeoutMs: 1000,
    maxOutageMs: 60_000,
    clock,
    scheduler: timeless,
  }
  return {
    generate: () => runGenerate(log, model, { ...options, decodeRows: 8, clock }),
    verify: () => runVerify(log, verifiersOf(parity), { ...options, ...verifying }),
    group: () => runGroup(log, options),
    pack: () => runPack(log, { ...options, seed: 7, plan: { maxTokens: 64, align: 1 } }),
    update: () => runUpdate(log, model, options),
  }
}

async function begun(): Promise<{ log: MemoryLog; tell: (...records: Control[]) => Promise<unknown> }> {
  const log = new MemoryLog()
  const tell = (...records: Control[]) =>
    log.commit({ append: records.map((value) => ({ topic: control, value }) as Append), settle: [] })
  return { log, tell }
}

test('one after the other, each works off what is there and ends; again, it does nothing', async () => {
  const say = controlWriter()
  const { log, tell } = await begun()
  await tell(say({ type: 'stage-begin', stage: 'math', index: 0, version: 0 }))
  const admission = { type: 'admit' as const, stage, step: 1, first: 0, count: 4, version: 0 }
  await log.commit({
    append: promptRecords(admission, { runId: 'r', seed: 7, source: arithmetic }),
    settle: [],
  })
  const model = new Model()
  const roles = rolesOver(log, model, true)
  const outputs: [RoleName, Topic<unknown>, number][] = [
    ['generate', rollouts('math') as Topic<unknown>, 16],
    ['verify', rewards('math') as Topic<unknown>, 16],
    ['group', advantages('math') as Topic<unknown>, 4],
    ['pack', gradientBatches as Topic<unknown>, 1],
    ['update', updates as Topic<unknown>, 1],
  ]
  for (const [role, topic, count] of outputs) {
    if (role === 'pack') {
      const groups = log.values(advantages('math')).flatMap((o, outcomeOffset) => {
        const { groupId, admission } = o
        return o.outcome === 'kept' ? [{ groupId, admission, outcomeOffset, hash: hashOutcome(o) }] : []
      })
      expect(groups.length).toBeGreaterThan(0)
      await tell(say(closed({ groups })))
    }
    for (let i = 0; i < 2; i++) {
      await roles[role]()
      expect(log.values(topic), role).toHaveLength(count)
    }
  }
  expect(model.applied).toEqual(['math/1'])
})

test.each(roleNames)('%s ends with the run', async (role) => {
  const say = controlWriter()
  const { log, tell } = await begun()
  const running = rolesOver(log, new Model(), false)[role]()
  await tell(say({ type: 'stage-begin', stage: 'math', index: 0, version: 0 }))
  await tell(say({ type: 'stage-drain', stage: 'math', steps: 0, version: 0 }))
  await tell(say({ type: 'run-end', version: 0 }))
  await running
})

test.each(roleNames)('%s fails where control cannot be read', async (role) => {
  const { log } = await begun()
  log.corrupt(control.name, Uint8Array.of(1, 2, 3))
  await expect(rolesOver(log, new Model(), false)[role]()).rejects.toMatchObject({
    code: 'RECORD_CORRUPT',
    message: /^control@0/,
  })
})

test('a step with more rewards than the window of the log is refused, not waited for', async () => {
  const large = rlStage({ prompts: 64, groupSize: 64, refill: 1.5 })
  const options = {
    stages: [large],
    credit: { records: 32, bytes: 1 << 20 },
    signal: new AbortController().signal,
  }
  await expect(runGroup(new MemoryLog(), options)).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining("at most the log's window (4096), got 6144"),
  })
})
