import { describe, expect, test } from 'vitest'
import { openEnvironment } from '../../../src/log/embedded/environment.ts'
import { openLog, writingProcess } from '../../../src/log/index.ts'
import { isCascadeError } from '../../../topics/index.ts'
import { append as appendIds, ids, range, rejection } from '../conformance/subject.ts'
import { Child } from './child.ts'
import { append, now, read, temporaryFolder } from './folder.ts'

/** The claim's row, as another process would leave it. */
async function claim(dir: string, owner: object, epoch: number): Promise<void> {
  const environment = await openEnvironment({ dir, mode: 'read', mapBytes: 1 << 30 })
  environment.writer.putSync(Buffer.from('writer'), Buffer.from(JSON.stringify(owner)), epoch)
  return environment.close()
}

test('several processes follow a topic live while another writes it', async () => {
  using folder = temporaryFolder()
  await (await append(folder.path)).close()
  const followers = range(0, 3).map(() => new Child('follower.ts', [folder.path, '600']))
  await Promise.all(followers.map((follower) => follower.line((line) => line === 'open')))
  await using writer = new Child('writer.ts', [folder.path, '600', '3000'])
  for (const follower of followers) {
    await follower.line((line) => line === 'followed 600')
    expect(await follower.exited).toBe(0)
  }
  expect(writer.lines[0]).toBe('open 2')
})

describe('one process appends', () => {
  test('a second one is refused, and told the first; it may read', async () => {
    using folder = temporaryFolder()
    const writer = new Child('writer.ts', [folder.path, '5', '10'])
    await writer.line((line) => line === 'done')
    expect(await writingProcess(folder.path)).toBe(writer.pid)
    const message = await rejection(append(folder.path), 'RUN_LOCKED')
    expect(message).toMatch(`process ${writer.pid}`)
    expect(message).toMatch(folder.path)
    const reader = await read(folder.path)
    expect(await ids(reader)).toEqual(range(0, 5))
    await reader.close()

    await writer.kill()
    expect(await writingProcess(folder.path)).toBeUndefined()
    await using log = await append(folder.path)
    expect(log.epoch).toBe(2)
    expect(await writingProcess(folder.path)).toBe(process.pid)
    await appendIds(log, [5])
    expect(await ids(log)).toEqual(range(0, 6))
  })

  test('also within one process, until the first is closed', async () => {
    using folder = temporaryFolder()
    const first = await append(folder.path)
    await rejection(append(folder.path), 'RUN_LOCKED')
    await appendIds(first, [0])
    await first.close()
    await using second = await append(folder.path)
    expect(second.epoch).toBe(2)
    expect(await ids(second)).toEqual([0])
  })

  test('a process that reads has to stop before it appends: its lock would be lost', async () => {
    using folder = temporaryFolder()
    await (await append(folder.path)).close()
    await using _reader = await read(folder.path)
    await rejection(append(folder.path), 'RUN_LOCKED')
  })

  test('a process id that was given out again is not the process that held the claim', async () => {
    using folder = temporaryFolder()
    const log = await append(folder.path)
    await claim(folder.path, { pid: process.ppid, started: 'long ago' }, 7)
    await log.close()
    expect(await writingProcess(folder.path)).toBeUndefined()
    await using again = await append(folder.path)
    expect(again.epoch).toBe(8)
  })
})

test('an older epoch is fenced: its commits fail and write nothing, and its closing leaves the newer claim', async () => {
  using folder = temporaryFolder()
  const old = await append(folder.path)
  await appendIds(old, [1])
  const newer = { pid: process.pid, started: 'elsewhere' }
  await claim(folder.path, newer, 2)
  const together = await Promise.allSettled([appendIds(old, [2]), appendIds(old, [3])])
  for (const result of together) {
    expect(result.status === 'rejected' && isCascadeError(result.reason, 'LOG_FENCED')).toBe(true)
  }
  await rejection(appendIds(old, [4]), 'LOG_FENCED')
  await rejection(old.retain([{ name: 'notes', retention: { bytes: 0 } }]), 'LOG_FENCED')
  expect(await ids(old)).toEqual([1])
  await old.close()
  await using next = await append(folder.path)
  expect(next.epoch).toBe(3)
  expect(await ids(next)).toEqual([1])
})

test('a folder without a log has nothing to read and no writing process', async () => {
  using folder = temporaryFolder()
  expect(await rejection(openLog({ dir: folder.path, mode: 'read', clock: now }), 'RUN_NOT_FOUND')).toMatch(
    folder.path,
  )
  expect(await writingProcess(folder.path)).toBeUndefined()
})
