import { expect, test } from 'vitest'
import { ids, range } from '../conformance/subject.ts'
import { Child } from './child.ts'
import { append, read, temporaryFolder } from './folder.ts'

/** Without the gate, one of three runs of 40,000 commits broke. */
const to = process.env.CASCADE_KILLS ? 12_000 : 1000

test('processes that open and close the log meanwhile take nothing from what is acknowledged', async () => {
  using folder = temporaryFolder()
  await (await append(folder.path)).close()
  await using first = new Child('opener.ts', [folder.path])
  await using second = new Child('opener.ts', [folder.path])
  await Promise.all([first, second].map((child) => child.line((line) => line === 'open')))
  await using writer = new Child('writer.ts', [folder.path, String(to), '10'])
  await writer.line((line) => line === 'done')
  await Promise.all([first, second, writer].map((child) => child.kill()))
  const log = await read(folder.path)
  expect(await ids(log)).toEqual(range(0, to))
  await log.close()
})
