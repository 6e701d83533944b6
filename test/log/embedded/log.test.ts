import { statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openEnvironment } from '../../../src/log/embedded/environment.ts'
import { SettledSet } from '../../../src/log/embedded/settled.ts'
import { append as appendIds, ids, note, notes, range } from '../conformance/subject.ts'
import { append, temporaryFolder } from './folder.ts'

test('commits made together share a transaction', async () => {
  using folder = temporaryFolder()
  await using log = await append(folder.path)
  const environment = await openEnvironment({ dir: folder.path, mode: 'read', mapBytes: 1 << 30 })
  const transactions = () => (environment.root.getStats() as { lastTxnId: number }).lastTxnId
  const before = transactions()
  await Promise.all(range(0, 100).map((id) => appendIds(log, [id])))
  expect(transactions() - before).toBeLessThanOrEqual(2)
  await environment.close()
})

test('a hold keeps records from retention until it is disposed', async () => {
  using folder = temporaryFolder()
  await using log = await append(folder.path)
  for (const id of range(0, 10)) await appendIds(log, [id])
  const everything = [{ name: 'notes', retention: { bytes: 0 } }]
  {
    using _hold = log.hold('notes', 4)
    expect(await log.retain(everything)).toMatchObject([{ topic: 'notes', records: 4 }])
    expect(await ids(log, notes, 4)).toEqual(range(4, 10))
  }
  expect(await log.retain(everything)).toMatchObject([{ topic: 'notes', records: 6 }])
})

test('no snapshot outlives a page: what retention frees is written again, and the file stays small', async () => {
  using folder = temporaryFolder()
  await using log = await append(folder.path)
  const size = () => statSync(join(folder.path, 'data.mdb')).size
  let early = 0
  for (const round of range(0, 60)) {
    await log.commit({ append: range(0, 10).map((id) => note(id, 'x'.repeat(50_000))), settle: [] })
    // Reads that stop inside a topic, as readers with little credit do.
    await log.fetch(notes, await log.offset('notes', 'earliest'), { records: 1, bytes: 1 })
    await log.retain([{ name: 'notes', retention: { bytes: 1_000_000 } }])
    if (round === 20) early = size()
  }
  // 30 MB went through it.
  expect(size()).toBe(early)
})

test('a settled set is stored and restored as it is', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.nat(300), { maxLength: 200 }), (offsets) => {
      const settled = new SettledSet()
      for (const offset of offsets) settled.settle(offset)
      const all = new Set(offsets)
      const floor = range(0, 302).find((offset) => !all.has(offset))!
      const beyond = offsets.filter((offset) => offset > floor).toSorted((a, b) => a - b)
      expect(settled.state()).toEqual({ floor, beyond })
      expect(SettledSet.decode(settled.encode()).state()).toEqual({ floor, beyond })
    }),
  )
})
