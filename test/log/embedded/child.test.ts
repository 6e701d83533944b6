import { setTimeout } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { note } from '../conformance/subject.ts'
import { Child } from './child.ts'
import { append, temporaryFolder } from './folder.ts'

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false
    throw error
  }
}

test('a child ends with its parent, even one that is killed', async () => {
  using folder = temporaryFolder()
  await using log = await append(folder.path)
  await log.commit({ append: [note(0)], settle: [] })
  await using parent = new Child('parent.ts', [folder.path])
  const line = await parent.line((l) => l.startsWith('follower '))
  const pid = Number(line.split(' ')[1])
  expect(runs(pid)).toBe(true)
  await parent.kill()
  while (runs(pid)) await setTimeout(5)
})
